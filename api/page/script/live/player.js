// Plays samples the moment they come, and says how loud it is. It reads on while it plays: a server that speaks live does
// not wait for a listener.

const LEAD_S = 0.04;
const LOOK_MS = 50;

export class LivePlayer {
  #context = null;
  #analyser = null;
  #heard = null;
  #end = 0;
  #duration = 0;
  #gaps = 0;
  #isStopped = false;

  /** Seconds of speech that were heard. */
  get position() {
    return this.#context ? Math.max(0, this.#duration - Math.max(0, this.#end - this.#context.currentTime)) : 0;
  }

  /** How often what came next came too late. */
  get gaps() {
    return this.#gaps;
  }

  /** How loud it is now, 0 to 1. */
  get level() {
    if (!this.#analyser) return 0;
    this.#analyser.getFloatTimeDomainData(this.#heard);
    return Math.min(1, this.#heard.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0));
  }

  take(samples, rate) {
    if (this.#isStopped) return;
    if (!this.#context) this.#open(rate);
    const buffer = this.#context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const node = new AudioBufferSourceNode(this.#context, { buffer });
    node.connect(this.#analyser);
    const now = this.#context.currentTime;
    if (this.#duration && now > this.#end) this.#gaps += 1;
    const start = this.#duration && now <= this.#end ? this.#end : now + LEAD_S;
    node.start(start);
    this.#end = start + buffer.duration;
    this.#duration += buffer.duration;
  }

  /** Until everything was heard, or it was stopped. */
  async finish() {
    while (!this.#isStopped && this.#context && this.#context.currentTime < this.#end) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    await this.stop();
  }

  async stop() {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.#context?.close();
    this.#analyser = null;
  }

  #open(rate) {
    this.#context = new AudioContext({ sampleRate: rate, latencyHint: "interactive" });
    this.#analyser = new AnalyserNode(this.#context, { fftSize: 2048 });
    this.#heard = new Float32Array(this.#analyser.fftSize);
    this.#analyser.connect(this.#context.destination);
  }
}
