// Plays samples as they arrive and measures their level. It keeps reading while it plays: a live server does not wait for
// the listener.

const LEAD_S = 0.04;
const LOOK_MS = 50;

export class LivePlayer {
  #context = null;
  #meter = null;
  #end = 0;
  #duration = 0;
  #isStopped = false;
  /** How often speech came too late. */
  gaps = 0;

  /** Seconds of speech played so far. */
  get position() {
    return this.#context ? Math.max(0, this.#duration - Math.max(0, this.#end - this.#context.currentTime)) : 0;
  }

  get level() {
    return this.#meter?.level() ?? 0;
  }

  take(samples, rate) {
    if (this.#isStopped) return;
    if (!this.#context) this.#open(rate);
    const buffer = this.#context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const node = new AudioBufferSourceNode(this.#context, { buffer });
    node.connect(this.#meter.analyser);
    const now = this.#context.currentTime;
    if (this.#duration && now > this.#end) this.gaps += 1;
    const start = this.#duration && now <= this.#end ? this.#end : now + LEAD_S;
    node.start(start);
    this.#end = start + buffer.duration;
    this.#duration += buffer.duration;
  }

  /** Resolves when everything was played, or after a stop. */
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
    this.#meter = null;
  }

  #open(rate) {
    this.#context = new AudioContext({ sampleRate: rate, latencyHint: "interactive" });
    this.#meter = levelMeter(this.#context);
    this.#meter.analyser.connect(this.#context.destination);
  }
}

/** Measures what is connected to its `analyser`. `level()`: from 0 to 1. */
export function levelMeter(context) {
  const analyser = new AnalyserNode(context, { fftSize: 2048 });
  const samples = new Float32Array(analyser.fftSize);
  return {
    analyser,
    level() {
      analyser.getFloatTimeDomainData(samples);
      return Math.min(1, samples.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0));
    },
  };
}
