// Plays samples while they come. A media element cannot: it sends no API key, and gives up on a stream that waits.

const AHEAD_S = 12;
const LEAD_S = 0.08;
const LOOK_MS = 200;

export class PcmPlayer {
  #context = null;
  #scheduled = [];
  #end = 0;
  #played = 0;
  #abort = new AbortController();

  /** What is heard now, in seconds of what was given to it. */
  get position() {
    if (!this.#context) return 0;
    const now = this.#context.currentTime;
    while (this.#scheduled.length > 1 && this.#scheduled[0].end <= now) this.#scheduled.shift();
    const piece = this.#scheduled[0];
    return piece ? piece.position + Math.min(Math.max(0, now - piece.start), piece.end - piece.start) : 0;
  }

  /** Whether everything that came was heard and more is awaited. */
  get isWaiting() {
    return !this.#context || this.#context.currentTime >= this.#end;
  }

  get isPaused() {
    return this.#context?.state === "suspended";
  }

  get signal() {
    return this.#abort.signal;
  }

  /** Play what `source` yields, to its end; never much further ahead than somebody listens. */
  async play(source) {
    for await (const { samples, rate } of source) {
      if (this.signal.aborted) return;
      this.#context ??= new AudioContext({ sampleRate: rate, latencyHint: "playback" });
      this.#schedule(samples, rate);
      while (this.#end - this.#context.currentTime > AHEAD_S && !this.signal.aborted) await later();
    }
    while (!this.signal.aborted && !this.isWaiting) await later();
  }

  async pause() {
    await this.#context?.suspend();
  }

  async resume() {
    await this.#context?.resume();
  }

  async stop() {
    this.#abort.abort();
    const context = this.#context;
    if (context && context.state !== "closed") await context.close();
  }

  #schedule(samples, rate) {
    const buffer = this.#context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const node = new AudioBufferSourceNode(this.#context, { buffer });
    node.connect(this.#context.destination);
    const start = Math.max(this.#end, this.#context.currentTime + LEAD_S);
    node.start(start);
    this.#end = start + buffer.duration;
    this.#scheduled.push({ start, end: this.#end, position: this.#played });
    this.#played += buffer.duration;
  }
}

function later() {
  return new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
