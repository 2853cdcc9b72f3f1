// One segment as a clip: its samples and the silence after them, as a file for a media element. The element sends no API
// key, so it cannot load the file itself.

import { request } from "../api.js";
import { withSilence } from "./wav.js";

/**
 * As soon as the segment is spoken; null if it never will be. Throws a `Problem`, or `AbortError` if `signal` says so.
 * Call `close()` when nothing plays it any more.
 */
export async function clipOf(jobId, segments, index, signal) {
  if (!(await segments.spoken(index, signal))) return null;
  const { sha256 } = segments.items[index];
  const answer = await request("GET", `v1/jobs/${jobId}/segments/${index}/audio`, { signal });
  const url = URL.createObjectURL(withSilence(await answer.arrayBuffer(), segments.gapAfter(index)));
  return { index, sha256, url, close: () => URL.revokeObjectURL(url) };
}
