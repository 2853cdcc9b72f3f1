// One job: progress, actions, text and files.

import { attempt, getJson } from "../api.js";
import { alerts, announce, button, changes, h, icon, replace, setHidden, setText } from "../dom.js";
import { follow } from "../following.js";
import { play, player, playing, stop, togglePause } from "../player/player.js";
import { repeat, throttled } from "../repeating.js";
import { doing, isOver, jobTitle } from "../wording.js";
import { jobActions } from "./actions.js";
import { beside } from "./beside/menu.js";
import { downloads } from "./inspector/downloads.js";
import { showProblem } from "./compose/fields.js";
import { jobFacts } from "./inspector/facts.js";
import { changedPassages } from "./inspector/heard.js";
import { inspector } from "./inspector/inspector.js";
import { jobProgress } from "./progress.js";
import { FEW, Segments } from "./inspector/segments.js";
import { jobFailure, jobWarnings } from "./inspector/warnings.js";
import { manuscript, manuscriptHint } from "./text/manuscript.js";
import { chapterRail } from "./waveform/chapters.js";
import { Peaks } from "./waveform/peaks.js";
import { waveform } from "./waveform/waveform.js";
import { stopSample } from "../voices/sample.js";

const LIVE_S = 2.5;
const OVER_S = 10;
const narrow = matchMedia("(max-width: 640px)");

export function jobView(id, list) {
  const abort = new AbortController();
  const segments = new Segments(id);
  segments.isFollowed = true;
  const title = h("h1", { class: "job-title", tabindex: "-1", dir: "auto" }, "…");
  const state = h("span", { class: "state big" });
  const failure = jobFailure();
  const refusal = alerts();
  const listen = h("button", { type: "button", class: "primary", on: { click: toggleListening }, hidden: true });
  const progress = jobProgress();
  const actions = jobActions(id, { onJob: told, onReopened: followEvents, onDeleted, onTrouble: tellTrouble });
  const files = downloads(id, { onJob: told, onTrouble: tellTrouble });
  const more = beside(id, segments);
  const facts = jobFacts();
  const notes = jobWarnings((index) => parts?.review(index));
  const changed = changedPassages(id, segments, (index) => parts.review(index));
  const showChanged = throttled(changed.show, 300);
  const showNamesSoon = throttled(showNames, 300);
  const text = h("section", { class: "text", "aria-label": "Text", hidden: true });
  const names = h("details", { hidden: true, on: { toggle: showNames } }, h("summary", {}, h("h2", {}, "Names and speakers")));
  const toFiles = button("Files", () => files.element.scrollIntoView(), { kind: "quiet" });
  const asides = h("div", { class: "asides" }, facts.element, names, changed.element, notes.element);
  const element = h("article", { class: "job", "data-loading": true },
    h("a", { class: "back", href: "#/" }, icon("back"), "All narrations"),
    h("header", { class: "job-head" }, title, state),
    failure.element, progress.element,
    h("div", { class: "row job-actions" }, listen, actions.element, toFiles, more.element), refusal,
    files.element, asides, text);
  narrow.addEventListener("change", arrange, { signal: abort.signal });
  arrange();

  let job = null;
  let parts = null;
  let isFollowing = false;
  let lastEvent = "";
  let lastEnd = 0;
  let numTold = 0;
  const isNewNames = changes();

  const refresher = repeat(readOrTell, () => (job && isOver(job.state) ? OVER_S : LIVE_S));
  const soon = throttled(() => refresher.now(), 600);
  player.addEventListener("change", showChanged, { signal: abort.signal });
  player.addEventListener("change", showListening, { signal: abort.signal });
  player.addEventListener("move", showHeard, { signal: abort.signal });
  player.addEventListener("trouble", ({ detail }) => detail.jobId === id && tellTrouble(detail), { signal: abort.signal });

  /** On a phone the text comes first. */
  function arrange() {
    if (narrow.matches) text.after(files.element, asides);
    else text.before(files.element, asides);
    setHidden(toFiles, !narrow.matches);
  }

  /** Follows the text while it is open. */
  async function showNames() {
    if (!names.open || abort.signal.aborted) return;
    const { nameList } = await import("./inspector/spelling.js");
    const found = nameList(segments, (name, index) => {
      parts.review(index);
      parts.note.openWords(name);
    }, parts.review);
    if (!isNewNames(found.map((each) => each.textContent))) return;
    const { name } = names.contains(document.activeElement) ? document.activeElement.dataset : {};
    replace(names, names.firstChild, found);
    if (name) names.querySelector(`[data-name="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
  }

  async function readOrTell(signal) {
    try {
      const before = numTold;
      const found = await getJson(`v1/jobs/${id}`, { signal });
      // An action's answer is newer. It has asked for another refresh.
      if (before !== numTold) return;
      show(found);
      if (parts && !isOver(job.state)) await readSegments(signal);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      if (error.status === 404 || error.status === 410) gone(error);
      else throw error;
    }
  }

  /** The job after an action. */
  function told(next) {
    numTold += 1;
    replace(refusal);
    show(next);
    soon();
  }

  function show(next) {
    const before = job;
    job = next;
    if (next.finished_at) lastEnd = Date.parse(next.finished_at);
    element.removeAttribute("data-loading");
    list.show(next);
    setText(title, jobTitle(next));
    document.title = `${jobTitle(next)} · Rhapsode`;
    setText(state, doing(next));
    state.dataset.state = next.state;
    progress.show(next);
    actions.show(next);
    more.show(next);
    files.show(next);
    facts.show(next);
    notes.show(next);
    failure.show(next);
    if (!parts && next.kind === "synthesis" && !next.request.validate_only) open(next);
    segments.setSpeed(next.request.output?.speed ?? 1);
    segments.setOver(isOver(next.state));
    if (before && before.state !== next.state) announce(`${jobTitle(next)}: ${doing(next)}`);
    // Not the state: a job may be reopened and end between two refreshes.
    if (before && isOver(next.state) && before.finished_at !== next.finished_at) loadSegments();
    if (!isOver(next.state)) followEvents();
    showListening();
  }

  function open({ request }) {
    const { signal } = abort;
    const editor = { open: (index) => paper.edit(index, 0), keep: (text) => paper.field.keep(text), leave: () => paper.field.leave(-1) };
    const note = inspector(id, segments, { model: request.model, speakers: request.speakers, hasVoices: !["text", "document"].includes(request.input.type), editor, onChanged: () => soon(), onPlay: (index) => listenFrom(index) });
    const choose = (index) => {
      paper.setChosen(index);
      paper.putBehind(index, note.element);
      note.show(index, paper.paragraphOf(index));
      wave.bring(index);
    };
    /** Marks the passage in text and waveform. */
    const pointAt = (index) => {
      paper.setPointed(index);
      wave.setPointed(index);
    };
    const editing = { onKeep: note.changeSentence, onOpen: note.setWriting };
    const paper = manuscript(segments, request.pauses, { onChoose: choose, onPoint: pointAt, editing });
    const peaks = new Peaks(id, segments, signal);
    const wave = waveform(segments, peaks, { onSeek: listenFrom, onPoint: (index) => paper.setPointed(index), signal });
    const rail = chapterRail(segments, peaks, { startOf: wave.startOf, onChoose: openChapter, signal });
    addEventListener("keydown", (event) => {
      if (!isUndo(event)) return;
      // The browser would take back what was written in a field elsewhere.
      event.preventDefault();
      (event.shiftKey ? note.redo : note.undo)(paper.show);
    }, { signal });
    note.element.addEventListener("closed", ({ detail }) => {
      paper.setChosen(null);
      paper.focus(detail);
    });
    replace(text, h("h2", { class: "visually-hidden" }, "Text"), wave.element, manuscriptHint(), h("div", { class: "pages" }, paper.element, rail.element));
    /** Until the passages are read there is none to show. */
    const review = (index) => {
      if (!segments.items[index]) return;
      choose(index);
      // The panel has left its old place by now.
      paper.show(index);
    };
    parts = { paper, wave, note, rail, review };
    segments.addEventListener("change", () => {
      [text, names].forEach((each) => setHidden(each, segments.length === 0));
      showChanged();
      showNamesSoon();
    });
    loadSegments();
  }

  /** Scrolls to it, and plays from there if the player is on. */
  function openChapter(index) {
    parts.paper.show(index);
    parts.wave.bring(index);
    if (heard() && segments.isDone(index)) listenFrom(index);
  }

  async function readSegments(signal) {
    const total = job.progress.segments.total;
    if (segments.length !== total || total <= FEW) await segments.load(signal);
    else await segments.markRunning(signal);
  }

  async function loadSegments() {
    if (parts) await attempt(() => segments.load(abort.signal), tellTrouble);
  }

  async function followEvents() {
    if (isFollowing || abort.signal.aborted) return;
    isFollowing = true;
    try {
      await follow(id, onEvent, abort.signal, lastEvent);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      if (error.status !== 404 && error.status !== 410) tellTrouble(error);
    } finally {
      isFollowing = false;
    }
  }

  function onEvent(event, eventId) {
    lastEvent = eventId;
    // A job that is taken up again tells everything from its beginning; what led to its end is read already.
    if (event.type.startsWith("job.segment.") && Date.parse(event.timestamp) > lastEnd) segments.apply(event);
    if (event.data.detail.events_lost) loadSegments();
    soon();
  }

  function toggleListening() {
    if (heard()) togglePause();
    else play({ jobId: id, name: jobTitle(job), segments });
  }

  function listenFrom(index, offsetS = 0) {
    play({ jobId: id, name: jobTitle(job), segments, first: index, offsetS });
  }

  const heard = () => (playing()?.jobId === id ? playing() : null);

  function showListening() {
    if (!job) return;
    const mine = heard();
    const isSpoken = job.kind === "synthesis" && !job.request.validate_only;
    setHidden(listen, !isSpoken);
    listen.disabled = job.progress.segments.done === 0;
    const label = mine ? (mine.isPaused ? "Go on listening" : "Pause listening") : isOver(job.state) ? "Listen" : "Listen along";
    if (listen.textContent !== label) replace(listen, icon(mine && !mine.isPaused ? "pause" : "play"), h("span", {}, label));
    showHeard();
  }

  function showHeard() {
    if (!parts) return;
    const mine = heard();
    parts.paper.setHeard(mine?.segment ?? null);
    parts.rail.setHeard(mine?.segment ?? null);
    parts.wave.setHeard(mine);
  }

  function tellTrouble(problem) {
    showProblem(refusal, problem);
  }

  function gone(error) {
    refresher.stop();
    list.forget(id);
    element.removeAttribute("data-loading");
    replace(element, element.querySelector(".back"), element.querySelector(".job-head"), refusal);
    setText(title, "There is no such narration");
    tellTrouble(error);
  }

  function onDeleted() {
    if (heard()) stop();
    list.forget(id);
    location.hash = "#/";
  }

  return {
    element,
    focus: () => title.focus(),
    close() {
      abort.abort();
      stopSample();
      segments.isFollowed = false;
      refresher.stop();
    },
  };
}

/** Ctrl or ⌘ and Z, also with Shift, except where it takes back what is being written. */
function isUndo({ key, target, ctrlKey, metaKey }) {
  return key.toLowerCase() === "z" && (ctrlKey || metaKey) && !target.closest?.("input:not([type=range], [type=checkbox]), textarea, [contenteditable], dialog");
}
