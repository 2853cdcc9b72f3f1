// The way back from changes of passages, and forth again. The tab keeps the numbers of takes, of the job changed last.

const MOST = 100;
const MOST_PASSAGES = 20_000;
const KEPT = "rhapsode.undo";

export class Undo {
  #jobId;
  #segments;
  #steps;
  /** Steps that lead forth again. */
  #undone;

  constructor(jobId, segments) {
    this.#jobId = jobId;
    this.#segments = segments;
    const kept = JSON.parse(sessionStorage.getItem(KEPT));
    const mine = kept?.jobId === jobId ? kept : {};
    this.#steps = mine.steps ?? [];
    this.#undone = mine.undone ?? [];
  }

  /** The spoken passages of the last change. */
  get indexes() {
    return passagesOf(this.#steps);
  }

  /** Those of the change that was taken back last. */
  get undone() {
    return passagesOf(this.#undone);
  }

  /** The takes of these passages before a change; `add` them after it. */
  before(indexes) {
    return indexes.filter((index) => this.#segments.isDone(index)).map((index) => [index, this.#segments.items[index].take]);
  }

  add(step) {
    if (!step.length) return;
    this.#undone = [];
    this.#steps.push(step);
    while (this.#steps.length > MOST || this.#steps.flat().length > MOST_PASSAGES) this.#steps.shift();
    this.#keep();
  }

  /** Take the last change back. Throws a `Problem`; it can be tried again. */
  back() {
    return this.#go(this.#steps, this.#undone);
  }

  /** Make it again. Throws a `Problem`. */
  forth() {
    return this.#go(this.#undone, this.#steps);
  }

  async #go(from, to) {
    const indexes = passagesOf(from);
    const way = this.before(indexes);
    await this.#segments.change(indexes, { takes: from.at(-1).map(([, take]) => take) });
    from.pop();
    // A take that was not spoken yet cannot come back.
    if (way.length === indexes.length) to.push(way);
    this.#keep();
  }

  #keep() {
    sessionStorage.setItem(KEPT, JSON.stringify({ jobId: this.#jobId, steps: this.#steps, undone: this.#undone }));
  }
}

const passagesOf = (steps) => steps.at(-1)?.map(([index]) => index) ?? [];
