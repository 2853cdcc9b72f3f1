// Where samples come from: a job as it is spoken, or its segments from one of them on.

import { request } from "../api.js";
import { WavReader } from "./wav.js";

/** The whole job from its beginning, following it until it ends. Yields `{samples, rate}`. */
export async function* wholeJob(jobId, signal) {
  const answer = await request("GET", `v1/jobs/${jobId}/audio`, { headers: { Accept: "audio/wav" }, signal });
  yield* decoded(answer.body);
}

/** The segments from `first` on, each as soon as it is done, with the silence between them. */
export async function* fromSegment(jobId, segments, first, signal) {
  for (let index = first; await segments.spoken(index, signal); index += 1) {
    const answer = await request("GET", `v1/jobs/${jobId}/segments/${index}/audio`, { signal });
    let rate = 0;
    for await (const piece of decoded(answer.body)) {
      rate = piece.rate;
      yield piece;
    }
    yield { samples: new Float32Array(Math.round(segments.gapAfter(index) * rate)), rate };
  }
}

async function* decoded(body) {
  const wav = new WavReader();
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const samples = wav.push(value);
      if (samples.length) yield { samples, rate: wav.rate };
    }
  } finally {
    // Whoever stops listening must not leave the server speaking to nobody.
    await reader.cancel().catch(() => {});
  }
}
