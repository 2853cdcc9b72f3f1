// Plays a narration by segments on two media elements: one plays while the other loads the next segment. Media elements
// keep the pitch at other speeds, and browsers send media keys to nothing else.

import { attempt, request } from "../api.js";
import { noteHeard } from "../jobs/inspector/heard.js";
import { withSilence } from "./wav.js";

/** Events: "change" on play, pause, wait or another segment; "end"; "trouble" with `detail`. */
export class Deck extends EventTarget {
  #jobId;
  #segments;
  #elements = [new Audio(), new Audio()];
  /** What each element has loaded: the segment's `index`, and `sha256` of its samples. */
  #clips = [null, null];
  #front = 0;
  #abort = new AbortController();
  #loading = new AbortController();
  /** The segment that plays or is waited for. */
  index = null;
  isPaused = false;
  isWaiting = true;

  constructor(jobId, segments, { rate, volume }) {
    super();
    this.#jobId = jobId;
    this.#segments = segments;
    for (const element of this.#elements) {
      element.preservesPitch = true;
      element.addEventListener("ended", () => element === this.#heard && this.goTo(this.index + 1));
    }
    this.rate = rate;
    this.volume = volume;
  }

  get #heard() {
    return this.#elements[this.#front];
  }

  get position() {
    const within = this.isWaiting ? 0 : this.#heard.currentTime;
    return this.#segments.startOf(this.index ?? 0) + within;
  }

  set rate(value) {
    for (const element of this.#elements) {
      element.defaultPlaybackRate = value;
      element.playbackRate = value;
    }
  }

  set volume(value) {
    for (const element of this.#elements) element.volume = value;
  }

  /** Continue at a segment, this many seconds after its start. */
  async goTo(index, offsetS = 0) {
    this.#loading.abort();
    this.#loading = new AbortController();
    const signal = AbortSignal.any([this.#abort.signal, this.#loading.signal]);
    if (!this.isWaiting && this.#isReady(this.#front, index)) {
      this.#heard.currentTime = offsetS;
      this.#prepare(index + 1, signal);
      this.#tell("change");
      return;
    }
    this.#heard.pause();
    this.index = index;
    this.isWaiting = true;
    this.#tell("change");
    try {
      if (!this.#isReady(1 - this.#front, index) && !(await this.#load(1 - this.#front, index, signal))) {
        this.#tell("end");
        return;
      }
      this.#front = 1 - this.#front;
      this.isWaiting = false;
      if (offsetS) this.#heard.currentTime = offsetS;
      if (!this.isPaused) {
        noteHeard(this.#jobId, this.#segments, index);
        await this.#play();
      }
      this.#tell("change");
      this.#prepare(index + 1, signal);
    } catch (error) {
      this.#failed(error);
    }
  }

  async resume() {
    this.isPaused = false;
    this.#tell("change");
    if (!this.isWaiting) await this.#play().catch((error) => this.#failed(error));
  }

  pause() {
    this.isPaused = true;
    this.#heard.pause();
    this.#tell("change");
  }

  close() {
    this.#abort.abort();
    for (const element of this.#elements) {
      element.pause();
      URL.revokeObjectURL(element.src);
      element.removeAttribute("src");
      element.load();
    }
  }

  /** A browser may require a click to start playback. Then it stays paused, and the button shows it. */
  async #play() {
    try {
      await this.#heard.play();
    } catch (error) {
      if (error.name === "NotAllowedError") this.pause();
      else if (error.name !== "AbortError") throw error;
    }
  }

  /** With the silence after it, as soon as it is spoken; false if it never will be. An element itself sends no API key. */
  async #load(place, index, signal) {
    if (!(await this.#segments.spoken(index, signal))) return false;
    const { sha256 } = this.#segments.items[index];
    const answer = await request("GET", `v1/jobs/${this.#jobId}/segments/${index}/audio`, { signal });
    const sound = withSilence(await answer.arrayBuffer(), this.#segments.gapAfter(index));
    signal.throwIfAborted();
    const element = this.#elements[place];
    URL.revokeObjectURL(element.src);
    element.src = URL.createObjectURL(sound);
    this.#clips[place] = { index, sha256 };
    return true;
  }

  /** Load the next segment. Its errors are reported when it should play. */
  async #prepare(index, signal) {
    const place = 1 - this.#front;
    if (this.#isReady(place, index)) return;
    await attempt(() => this.#load(place, index, signal), () => {});
  }

  /** A loaded clip is dropped if the segment was spoken again since. */
  #isReady(place, index) {
    const clip = this.#clips[place];
    return clip !== null && clip.index === index && clip.sha256 === this.#segments.items[index]?.sha256;
  }

  #failed(error) {
    if (error.name === "AbortError") return;
    if (error.name !== "Problem") throw error;
    this.dispatchEvent(new CustomEvent("trouble", { detail: error.message }));
  }

  #tell(type) {
    if (!this.#abort.signal.aborted) this.dispatchEvent(new Event(type));
  }
}
