// The player at the foot of the page: one narration at a time, with the passage that is heard.

import { announce, button, h, icon, replace, setHidden, setText } from "../dom.js";
import { clock } from "../wording.js";
import { PcmPlayer } from "./pcm.js";
import { fromSegment, wholeJob } from "./sources.js";

const bar = document.getElementById("player");
const LOOK_MS = 120;

/** Tells "change" when what is played, or how, is another thing. */
export const player = new EventTarget();

let now = null;
let timer = null;

const toggle = button("Pause", togglePause, { iconName: "pause", kind: "primary icon-only round", showsLabel: false });
const back = button("Passage before", () => step(-1), { iconName: "previous", kind: "quiet icon-only", showsLabel: false });
const ahead = button("Next passage", () => step(1), { iconName: "next", kind: "quiet icon-only", showsLabel: false });
const close = button("Close the player", stop, { iconName: "close", kind: "quiet icon-only", showsLabel: false });
const title = h("a", { class: "player-title", href: "#/" });
const line = h("p", { class: "player-line", dir: "auto" });
const time = h("span", { class: "player-time" });
replace(bar, h("div", { class: "player-buttons" }, back, toggle, ahead), h("div", { class: "player-text" }, title, line),
  time, close);

/** What is played: `{jobId, segment}`, or null. `segment` is null between two. */
export function playing() {
  return now && { jobId: now.jobId, segment: now.segment, isPaused: now.pcm.isPaused };
}

/** Play a job; `segments` (may be null) tells which passage is heard, `first` where to begin, null for the whole. */
export async function play({ jobId, name, segments = null, first = null }) {
  stop();
  const pcm = new PcmPlayer();
  const source = first === null ? wholeJob(jobId, pcm.signal) : fromSegment(jobId, segments, first, pcm.signal);
  const mine = { jobId, name, segments, pcm, offset: first === null ? 0 : segments.startOf(first), segment: first };
  now = mine;
  title.href = `#/jobs/${jobId}`;
  setText(title, name);
  title.dir = "auto";
  for (const step of [back, ahead]) step.disabled = !segments;
  setHidden(bar, false);
  document.body.dataset.playing = "yes";
  timer = setInterval(look, LOOK_MS);
  look();
  tell();
  try {
    await pcm.play(source);
    if (now === mine) stop();
  } catch (error) {
    if (now !== mine || error.name === "AbortError") return;
    stop();
    announce(`Playing stopped: ${error.message}`);
    player.dispatchEvent(new CustomEvent("trouble", { detail: { jobId, message: error.message } }));
  }
}

export function stop() {
  if (!now) return;
  const { pcm } = now;
  now = null;
  clearInterval(timer);
  setHidden(bar, true);
  delete document.body.dataset.playing;
  pcm.stop();
  tell();
}

export async function togglePause() {
  if (!now) return;
  const { pcm } = now;
  await (pcm.isPaused ? pcm.resume() : pcm.pause());
  look();
  tell();
}

/** To the passage before or after the one that is heard; the one before only if this one has just begun. */
function step(direction) {
  const { jobId, name, segments, segment } = now;
  const heard = place() - segments.startOf(segment ?? 0);
  const wanted = (segment ?? 0) + (direction < 0 && heard > 2 ? 0 : direction);
  if (wanted >= 0 && segments.isDone(wanted)) play({ jobId, name, segments, first: wanted });
}

function place() {
  return now.offset + now.pcm.position;
}

function look() {
  if (!now) return;
  const { pcm, segments } = now;
  const at = place();
  setText(time, clock(at));
  setIcon(pcm.isPaused ? "play" : "pause", pcm.isPaused ? "Go on" : "Pause");
  const segment = segments ? segments.at(at) : null;
  const passage = segment === null ? "" : segments.textOf(segment);
  setText(line, pcm.isWaiting && !pcm.isPaused ? "Waiting for the next passage …" : passage);
  if (segment === now.segment) return;
  now.segment = segment;
  tell();
}

function setIcon(name, label) {
  if (toggle.dataset.icon === name) return;
  toggle.dataset.icon = name;
  toggle.title = label;
  replace(toggle, icon(name), h("span", { class: "visually-hidden" }, label));
}

function tell() {
  player.dispatchEvent(new Event("change"));
}
