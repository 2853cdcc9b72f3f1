// One segment as a clip: its samples and the silence after them, as a file for a media element. The element sends no API
// key, so it cannot load the file itself.

import { request } from "../api.js";
import { withSilence } from "./wav.js";

/** A segment, ready to play. Call `close()` when nothing plays it any more. */
export class Clip {
  #url;

  constructor(index, sha256, file) {
    this.index = index;
    this.sha256 = sha256;
    this.#url = URL.createObjectURL(file);
  }

  get url() {
    return this.#url;
  }

  close() {
    URL.revokeObjectURL(this.#url);
  }
}

/** As soon as the segment is spoken; null if it never will be. Throws a `Problem`, or `AbortError` if `signal` says so. */
export async function clipOf(jobId, segments, index, signal) {
  if (!(await segments.spoken(index, signal))) return null;
  const { sha256 } = segments.items[index];
  const answer = await request("GET", `v1/jobs/${jobId}/segments/${index}/audio`, { signal });
  return new Clip(index, sha256, withSilence(await answer.arrayBuffer(), segments.gapAfter(index)));
}
