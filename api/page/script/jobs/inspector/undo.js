// The way back from changes of passages. The tab keeps the numbers of earlier takes, of the job changed last.

const MOST = 100;
const MOST_PASSAGES = 20_000;
const KEPT = "rhapsode.undo";

export class Undo {
  #jobId;
  #segments;
  #steps;

  constructor(jobId, segments) {
    this.#jobId = jobId;
    this.#segments = segments;
    const kept = JSON.parse(sessionStorage.getItem(KEPT));
    this.#steps = kept?.jobId === jobId ? kept.steps : [];
  }

  get isPossible() {
    return this.#steps.length > 0;
  }

  /** The spoken passages of the last change. */
  get indexes() {
    return this.#steps.at(-1)?.map(([index]) => index) ?? [];
  }

  /** The takes of these passages before a change; `add` them after it. */
  before(indexes) {
    return indexes.filter((index) => this.#segments.isDone(index)).map((index) => [index, this.#segments.items[index].take]);
  }

  add(step) {
    if (!step.length) return;
    this.#steps.push(step);
    while (this.#steps.length > MOST || this.#steps.flat().length > MOST_PASSAGES) this.#steps.shift();
    this.#keep();
  }

  /** Take the last change back. Throws a `Problem`; it can be tried again. */
  async back() {
    await this.#segments.change(this.indexes, { takes: this.#steps.at(-1).map(([, take]) => take) });
    this.#steps.pop();
    this.#keep();
  }

  #keep() {
    sessionStorage.setItem(KEPT, JSON.stringify({ jobId: this.#jobId, steps: this.#steps }));
  }
}
