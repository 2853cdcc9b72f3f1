// The player: one narration at a time.

import { getJson } from "../api.js";
import { announce, setHidden } from "../dom.js";
import { repeat } from "../repeating.js";
import { isOver } from "../wording.js";
import { playerBar } from "./bar.js";
import { Deck } from "./deck.js";
import { clearKeys, showOnKeys, takeMediaKeys } from "./media_keys.js";

const LOOK_MS = 120;
const JUMP_S = 10;
/** Up to this many seconds into a passage, "previous" goes to the passage before it. */
const BEGUN_S = 2;
const FOLLOW_S = 2;

/** Events: "change" of narration, passage or playback; "move" while it plays. */
export const player = new EventTarget();

const element = document.getElementById("player");
const bar = playerBar(element, { toggle: togglePause, step, seek, close: stop, rate: setRate, volume: setVolume });
const sound = { rate: 1, volume: 1 };
let now = null;
let timer = null;

/** `{jobId, segment, position, isPaused}`, or null if nothing plays. */
export function playing() {
  return now && { jobId: now.jobId, segment: now.deck.index, position: now.deck.position, isPaused: now.deck.isPaused };
}

/** Play a narration whose `segments` are known, from the segment `first` on. */
export function play({ jobId, name, segments, first = 0, offsetS = 0 }) {
  if (now?.jobId === jobId && now.segments === segments) {
    now.deck.resume();
    now.deck.goTo(first, offsetS);
    return;
  }
  stop();
  const deck = new Deck(jobId, segments, sound);
  const follower = repeat((signal) => follow(jobId, segments, signal), () => FOLLOW_S);
  const mine = { jobId, name, segments, deck, follower };
  now = mine;
  deck.addEventListener("change", () => { look(); tell("change"); });
  deck.addEventListener("end", () => now === mine && stop());
  deck.addEventListener("trouble", ({ detail: message }) => {
    stop();
    announce(`Playing stopped: ${message}`);
    player.dispatchEvent(new CustomEvent("trouble", { detail: { jobId, message } }));
  });
  bar.open({ name, href: `#/jobs/${jobId}` });
  setHidden(element, false);
  document.documentElement.dataset.playing = "yes";
  takeMediaKeys({
    play: togglePause, pause: togglePause, stop,
    previoustrack: () => step(-1), nexttrack: () => step(1),
    seekbackward: ({ seekOffset }) => seek(deck.position - (seekOffset ?? JUMP_S)),
    seekforward: ({ seekOffset }) => seek(deck.position + (seekOffset ?? JUMP_S)),
    seekto: ({ seekTime }) => seek(seekTime),
  });
  timer = setInterval(look, LOOK_MS);
  deck.goTo(first, offsetS);
}

/** Refreshes the segments while the narration is not open on the page. */
async function follow(jobId, segments, signal) {
  if (segments.isFollowed || segments.isWhole) return;
  const job = await getJson(`v1/jobs/${jobId}`, { signal });
  await segments.load(signal);
  segments.setOver(isOver(job.state));
}

export function stop() {
  if (!now) return;
  const { deck, follower } = now;
  now = null;
  follower.stop();
  clearInterval(timer);
  setHidden(element, true);
  delete document.documentElement.dataset.playing;
  clearKeys();
  deck.close();
  tell("change");
}

/** Another source plays next. */
export function pausePlayer() {
  if (now && !now.deck.isPaused) now.deck.pause();
}

export function togglePause() {
  if (!now) return;
  if (now.deck.isPaused) now.deck.resume();
  else now.deck.pause();
}

/** Go to this second, if it is spoken already. */
export function seek(seconds) {
  if (!now) return;
  const { segments, deck } = now;
  const wanted = Math.max(0, Math.min(seconds, segments.spokenS - 0.05));
  const index = segments.at(wanted);
  if (index !== null) deck.goTo(index, wanted - segments.startOf(index));
}

/** Go to the next passage, or back: to the start of this one, or the previous one if this has just begun. */
function step(direction) {
  if (!now) return;
  const { segments, deck } = now;
  const heard = deck.position - segments.startOf(deck.index);
  const wanted = deck.index + (direction < 0 && heard > BEGUN_S ? 0 : direction);
  if (wanted >= 0 && segments.isDone(wanted)) deck.goTo(wanted);
}

function setRate(value) {
  sound.rate = value;
  if (now) now.deck.rate = value;
}

function setVolume(value) {
  sound.volume = value;
  if (now) now.deck.volume = value;
}

function look() {
  if (!now) return;
  const { deck, segments, name } = now;
  const known = segments.wholeS;
  const whole = known ?? segments.spokenS;
  // What plays may have been changed since: then less is there.
  const at = Math.min(deck.position, whole);
  const passage = deck.isWaiting && !segments.isDone(deck.index) ? "Waiting for the next passage …" : segments.textOf(deck.index);
  bar.show({ at, whole, passage, isPaused: deck.isPaused, isWhole: known !== null });
  showOnKeys({ title: name, line: passage, isPaused: deck.isPaused, position: at, duration: whole, rate: sound.rate });
  tell("move");
}

function tell(type) {
  player.dispatchEvent(new Event(type));
}

/** The space bar, wherever it has no other meaning. */
addEventListener("keydown", (event) => {
  const isFree = !event.target.closest?.("a, button, input, select, textarea, summary, [role=button], dialog");
  if (event.key !== " " || !now || !isFree || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  togglePause();
});
