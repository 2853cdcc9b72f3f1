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

  /** The passages of the last change; a passage that was not spoken had no take to go back to. */
  get indexes() {
    return this.#steps.at(-1)?.map(([index]) => index) ?? [];
  }

  /** What leads back behind a change of these passages, before it is made; `add` it once it was. */
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
