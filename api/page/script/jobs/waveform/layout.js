// Times of segments and sentences. Unspoken ones are estimated from their text.

const CHARS_PER_S = 14;

/** The last of `count` parts that begins at or before `at`; the first if none does. `startOf(index)` grows. */
export function lastStarted(at, count, startOf) {
  let [low, high] = [0, count];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (startOf(middle) <= at) low = middle;
    else high = middle;
  }
  return low;
}

/** The places of a narration's segments at one moment. */
export class Layout {
  #segments;
  #starts = [];
  total = 0;

  constructor(segments) {
    this.#segments = segments;
  }

  measure() {
    let at = 0;
    this.#starts.length = 0;
    for (let index = 0; index < this.#segments.length && this.#segments.items[index]; index += 1) {
      this.#starts.push(at);
      at += this.lengthOf(index) + this.#segments.gapAfter(index);
    }
    this.total = at;
  }

  get count() {
    return this.#starts.length;
  }

  startOf(index) {
    return this.#starts[index] ?? 0;
  }

  /** Without the silence after it. */
  lengthOf(index) {
    const { duration_s: duration, state, text } = this.#segments.items[index];
    return state === "done" && duration ? duration : Math.max(0.4, text.length / CHARS_PER_S);
  }

  /** The segment at this time, including the silence after it; null beyond the end. */
  at(seconds) {
    if (seconds < 0 || seconds > this.total || !this.count) return null;
    return lastStarted(seconds, this.count, (index) => this.#starts[index]);
  }

  /**
   * Start and end of a segment's sentences. The server knows times of whole segments only. Within one, they follow the share
   * of letters.
   */
  sentencesOf(index) {
    const { sentences } = this.#segments.items[index];
    const letters = sentences.reduce((sum, { text }) => sum + text.length, 0) || 1;
    const [start, length] = [this.startOf(index), this.lengthOf(index)];
    let before = 0;
    return sentences.map((sentence) => {
      const from = start + (length * before) / letters;
      before += sentence.text.length;
      return { sentence, from, to: start + (length * before) / letters };
    });
  }
}
