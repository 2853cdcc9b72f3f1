// How far the samples of each segment reach, asked for as they are spoken.

import { getJson } from "../../api.js";
import { throttled } from "../../repeating.js";

const PAGE = 200;
const PAUSE_MS = 1500;

/** Tells "change" when more is known. `chapters` of the narration come with the first answer. */
export class Peaks extends EventTarget {
  #jobId;
  #segments;
  #known = new Map();
  #signal;
  #isReading = false;
  #look;
  chapters = [];

  constructor(jobId, segments, signal) {
    super();
    this.#jobId = jobId;
    this.#segments = segments;
    this.#signal = signal;
    this.#look = throttled(() => this.#read(), PAUSE_MS);
    segments.addEventListener("change", this.#look, { signal });
    this.#look();
  }

  /** A byte for each stretch of the take in place; null where none are known. */
  of(index) {
    const known = this.#known.get(index);
    return known && known.sha256 === this.#segments.items[index]?.sha256 ? known.peaks : null;
  }

  /** The first segment whose take in place was not asked for; -1 if there is none. */
  #missing() {
    return this.#segments.items.findIndex((item) => item?.state === "done" && this.#known.get(item.index)?.sha256 !== item.sha256);
  }

  async #read() {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      for (let first = this.#missing(); first >= 0 && !this.#signal.aborted; first = this.#missing()) {
        const page = await getJson(`v1/jobs/${this.#jobId}/waveform?limit=${PAGE}&first=${first}`, { signal: this.#signal });
        for (const { index, sha256, peaks } of page.data) this.#known.set(index, { sha256, peaks: decoded(peaks) });
        this.chapters = page.chapters;
        this.dispatchEvent(new Event("change"));
        // Another take has come since the segments were read: they are read again when that is told.
        if (this.#missing() === first) return;
      }
    } catch (error) {
      // It is a picture: what is wrong with the server is told by whoever asks for the narration itself.
      if (error.name !== "AbortError" && error.name !== "Problem") throw error;
    } finally {
      this.#isReading = false;
    }
  }
}

function decoded(peaks) {
  return peaks === null ? null : Uint8Array.from(atob(peaks), (letter) => letter.charCodeAt(0));
}
