// Peaks of each segment's samples, loaded as segments are spoken.

import { getJson } from "../../api.js";
import { throttled } from "../../repeating.js";

const PAGE = 200;
const PAUSE_MS = 1500;

/** Event "change": more is known. `chapters` of the narration come with the first answer. */
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

  /** One byte for each stretch of the chosen take; null while unknown. */
  of(index) {
    const known = this.#known.get(index);
    return known && known.sha256 === this.#segments.items[index]?.sha256 ? known.peaks : null;
  }

  /** The first segment whose chosen take was not requested; -1 if there is none. */
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
        // The take has changed since. The change event reads the segments again.
        if (this.#missing() === first) return;
      }
    } catch (error) {
      // The waveform is optional. The request for the narration itself shows server errors.
      if (error.name !== "AbortError" && error.name !== "Problem") throw error;
    } finally {
      this.#isReading = false;
    }
  }
}

function decoded(peaks) {
  return peaks === null ? null : Uint8Array.from(atob(peaks), (letter) => letter.charCodeAt(0));
}
