// A plan of a new narration: asked for and not kept.

import { Problem, randomToken, request } from "../../api.js";
import { isOver } from "../../wording.js";

/** The plan, or its job if so many requests of half a minute are too few. The job of a plan is deleted. Throws a `Problem`. */
export async function planOf(order, mostRequests = 1) {
  // Repeated, it is the same job.
  const headers = { "Idempotency-Key": randomToken() };
  for (let number = 1; ; number += 1) {
    const answer = await request("POST", "v1/jobs", { json: { ...order, validate_only: true }, headers });
    const found = await answer.json();
    if (found.object !== "job") {
      await request("DELETE", `v1/jobs/${answer.headers.get("Location").split("/").pop()}`);
      return found;
    }
    if (isOver(found.state)) throw new Problem(0, { detail: found.error?.detail ?? "The text could not be read." });
    if (number === mostRequests) return found;
  }
}
