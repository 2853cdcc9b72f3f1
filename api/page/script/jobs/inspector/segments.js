// The segments of one job, read page by page and updated by the job's events.

import { getJson, pages, sendJson } from "../../api.js";
import { lastStarted } from "../waveform/layout.js";

const FIRST_PAGE = 100;
const WHOLE_PAGE = 1000;
const MOST = 20_000;
const MOST_CHANGED = 1000;
const MARGINS_S = 0.06;

/** Up to this many segments, each event rereads the list. */
export const FEW = 200;

/** Event "change": `detail.indexes`, null for all segments. */
export class Segments extends EventTarget {
  #jobId;
  #starts = [0];
  #isOver = false;
  #reading = Promise.resolve();
  #next = null;
  #clock = 0;
  #told = [];
  #speed = 1;
  #lengths = [];
  items = [];
  /** Whether everything was read once. */
  isRead = false;
  /** Whether an open view keeps them up to date. */
  isFollowed = false;

  constructor(jobId) {
    super();
    this.#jobId = jobId;
  }

  /** The factor from speech time to narration time. */
  setSpeed(speed) {
    if (speed === this.#speed) return;
    this.#lengths = [];
    this.#speed = speed;
    this.#starts = [0];
  }

  get length() {
    return this.items.length;
  }

  /**
   * Everything from the server, in the order of the text. One reading at a time: a caller in the meantime gets the next one.
   */
  load(signal) {
    this.#next ??= this.#reading.then(() => {
      this.#next = null;
      const reading = this.#read(signal);
      // The caller gets the failure. The next reading is tried anyway.
      this.#reading = reading.catch(() => {});
      return reading;
    });
    return this.#next;
  }

  async #read(signal) {
    const path = `v1/jobs/${this.#jobId}/segments`;
    const limit = this.length ? WHOLE_PAGE : FIRST_PAGE;
    let asked = this.#clock;
    for await (const page of pages(path, { limit }, { signal, next: WHOLE_PAGE })) {
      // An event that came after the page was requested is newer than the page.
      const fresh = page.filter(({ index }) => !(this.#told[index] > asked));
      for (const segment of fresh) this.items[segment.index] = segment;
      this.#changed(fresh.map((segment) => segment.index));
      if (this.length >= MOST) break;
      asked = this.#clock;
    }
    if (this.isRead) return;
    this.isRead = true;
    this.#changed(null);
  }

  /** Segments that are being spoken now. Events do not say this. */
  async markRunning(signal) {
    const { data } = await getJson(`v1/jobs/${this.#jobId}/segments?state=running&limit=500`, { signal });
    const running = new Set(data.map((segment) => segment.index));
    const changed = this.items.filter((item) => (item.state === "running") !== running.has(item.index) && item.state !== "done");
    for (const item of changed) item.state = running.has(item.index) ? "running" : "pending";
    if (changed.length) this.#changed(changed.map((item) => item.index));
  }

  apply({ type, data: { detail } }) {
    const item = this.items[detail.segment];
    if (!item) return;
    if (type === "job.segment.completed") Object.assign(item, { state: "done", duration_s: detail.audio_ms / 1000 / this.#speed });
    else if (type === "job.segment.flagged") Object.assign(item, { flagged: true, findings: String(detail.flags).split(",") });
    else if (type === "job.segment.failed") item.state = "failed";
    else if (type === "job.segment.edited") Object.assign(item, { state: "pending", take: detail.take });
    else if (type === "job.segment.selected") Object.assign(item, { state: "done", take: detail.take });
    else return;
    this.#tell([item.index]);
  }

  put(...fresh) {
    for (const segment of fresh) this.items[segment.index] = segment;
    this.#tell(fresh.map(({ index }) => index));
  }

  /** Gives all of these another `voice`, puts the earlier `takes` of them in place, or has words said as `pronunciations`. */
  async change(indexes, { voice, takes, pronunciations }) {
    for (let first = 0; first < indexes.length; first += MOST_CHANGED) {
      const part = (list) => list?.slice(first, first + MOST_CHANGED);
      const segments = part(indexes).map((index) => this.items[index].id);
      const { data } = await sendJson("PATCH", `v1/jobs/${this.#jobId}/segments`, { segments, voice, takes: part(takes), pronunciations });
      this.put(...data);
    }
  }

  /** Nothing more will be spoken. Waits for a segment end. */
  setOver(isOver) {
    if (isOver === this.#isOver) return;
    this.#isOver = isOver;
    this.#changed(null);
  }

  isDone(index) {
    return this.items[index]?.state === "done";
  }

  textOf(index) {
    return this.items[index]?.text ?? "";
  }

  /** Seconds of silence between a segment's samples and the next one's. Part of a pause lies within the samples. */
  gapAfter(index) {
    return Math.max(0, this.items[index].pause_after_s - MARGINS_S) / this.#speed;
  }

  /** Where a segment begins, in seconds of the narration, as far as all before it are done. */
  startOf(index) {
    for (let known = this.#starts.length - 1; known < index && this.isDone(known); known += 1) {
      this.#starts.push(this.#starts[known] + this.items[known].duration_s + this.gapAfter(known));
    }
    return this.#starts[Math.min(index, this.#starts.length - 1)];
  }

  /** Seconds of the narration that are spoken without a gap, from its beginning. */
  get spokenS() {
    return this.startOf(this.length);
  }

  /** Seconds of the whole narration, with the earlier length of what is spoken again; null before all was spoken once. */
  get wholeS() {
    this.items.forEach(({ state, duration_s: length }, index) => {
      if (state === "done") this.#lengths[index] = length;
    });
    return this.items.reduce((sum, _, index) => (sum === null || !this.#lengths[index] ? null : sum + this.#lengths[index] + this.gapAfter(index)), 0);
  }

  get isWhole() {
    this.startOf(this.length);
    return this.#starts.length > this.length;
  }

  /** The segment at this time of the narration; null before the first. */
  at(seconds) {
    this.startOf(this.length);
    const low = lastStarted(seconds, Math.min(this.#starts.length, this.length), (index) => this.#starts[index]);
    return this.length && this.isDone(low) ? low : null;
  }

  /** Whether this segment can be played, once that is known. Throws an `AbortError` if `signal` is aborted. */
  async spoken(index, signal) {
    for (;;) {
      signal.throwIfAborted();
      if (this.isDone(index)) return true;
      // Before the first reading nothing is known of any.
      if (this.#isOver && this.isRead) return false;
      await new Promise((resolve) => {
        this.addEventListener("change", resolve, { once: true, signal });
        signal.addEventListener("abort", resolve, { once: true });
      });
    }
  }

  #tell(indexes) {
    this.#clock += 1;
    for (const index of indexes) this.#told[index] = this.#clock;
    this.#changed(indexes);
  }

  #changed(indexes) {
    const first = indexes === null ? 0 : Math.min(...indexes);
    this.#starts.length = Math.max(1, Math.min(this.#starts.length, first + 1));
    this.dispatchEvent(new CustomEvent("change", { detail: { indexes } }));
  }
}

/** "" for the narrator and for a voice without a name. A character with another voice than at first is `Anna (tom)`. */
export function characterOf({ speaker, voice }) {
  const behind = ` (${voice})`;
  if (speaker === voice) return "";
  return speaker.endsWith(behind) ? speaker.slice(0, -behind.length) : speaker;
}
