// Sources of live speech: a whole text over HTTP, or a text being written over a WebSocket.

import { Problem, openSocket, request } from "../api.js";
import { PcmReader } from "../player/wav.js";

const PROTOCOL = "nari.speech.v1";
const NORMAL = 1000;

/** Speech of a text while it is made. Yields `{samples, rate}`. */
export async function* wholeText(text, options, signal) {
  const json = { ...options, input: text, stream: true, response_format: "pcm" };
  const answer = await request("POST", "v1/audio/speech", { json, signal, isKeyed: false });
  const rate = Number(answer.headers.get("X-Sample-Rate"));
  const pcm = new PcmReader();
  const reader = answer.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const samples = pcm.push(value);
      if (samples.length) yield { samples, rate };
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The connection was lost before the end of the speech." });
  }
}

/** Speech of a text while it is written. `write` and `end` wait until the server is ready. */
export class OpenText {
  #socket;
  #options;
  #waiting = [];
  #isReady = false;
  #sequence = 0;
  #came = [];
  #wake = () => {};
  #pcm = new PcmReader();
  #rate = 0;
  /** Findings about the speech; complete at its end. */
  findings = [];

  constructor(options, signal) {
    this.#options = options;
    this.#socket = openSocket("v1/audio/speech/ws", PROTOCOL);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.addEventListener("message", ({ data }) => this.#take(data));
    this.#socket.addEventListener("close", ({ code }) => this.#closed(code));
    signal.addEventListener("abort", () => this.#socket.close(NORMAL), { once: true });
  }

  write(text) {
    if (text) this.#send({ type: "input_text.append", text });
  }

  end() {
    this.#send({ type: "input_text.end" });
  }

  /** Yields `{samples, rate}` until the speech is over. Throws a `Problem` if it ends before. */
  async *chunks() {
    for (;;) {
      while (this.#came.length) {
        const next = this.#came.shift();
        if (next === null) return;
        if (next instanceof Error) throw next;
        yield next;
      }
      await new Promise((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #send(message) {
    if (!this.#isReady) {
      this.#waiting.push(message);
      return;
    }
    this.#socket.send(JSON.stringify({ ...message, sequence: this.#sequence }));
    this.#sequence += 1;
  }

  #take(data) {
    if (data instanceof ArrayBuffer) {
      const samples = this.#pcm.push(new Uint8Array(data));
      if (samples.length) this.#hand({ samples, rate: this.#rate });
      return;
    }
    const event = JSON.parse(data);
    if (event.audio) this.#rate = event.audio.sample_rate;
    if (event.type === "session.created") {
      this.#socket.send(JSON.stringify({ ...this.#options, type: "request.start", response_format: "pcm" }));
    } else if (event.type === "request.configured") {
      this.#isReady = true;
      for (const message of this.#waiting.splice(0)) this.#send(message);
    } else if (event.type === "response.done") {
      this.findings = event.findings ?? [];
      this.#hand(null);
    } else if (event.type === "error") {
      this.#hand(new Problem(event.error.status ?? 500, { ...event.error, detail: event.error.message }));
    }
  }

  #closed(code) {
    const detail = this.#isReady ? "The connection was lost before the end of the speech." : "The server refused the connection.";
    this.#hand(code === NORMAL ? null : new Problem(0, { detail }));
  }

  #hand(next) {
    this.#came.push(next);
    this.#wake();
  }
}
