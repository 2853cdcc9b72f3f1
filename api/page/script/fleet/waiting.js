// Why a queue's work waits, and what an operator can do about it.

import { count, counted, span } from "../wording.js";

/** A worker with room claims work within a second. So a longer wait has another cause. */
const PATIENCE_S = 15;
const WORKS = { cpu: "plans texts and assembles files", gpu: "speaks", hooks: "sends webhooks" };

/**
 * The first cause that holds: `why` and `action`, sentences; `isStuck`, whether the work waits until an operator acts.
 * `queue`, `workers` and `totals` are as the API answers them. null if nothing waits.
 */
export function causeOf(queue, workers, totals) {
  if (!queue.ready_items) return null;
  const mine = workers.filter((worker) => worker.queue === queue.name);
  const being = (...states) => mine.filter(({ state }) => states.includes(state));
  const janitors = workers.filter(({ role, state }) => role === "janitor" && state !== "unresponsive");
  if (totals.claims_held) return stuck(`Claims are stopped: ${totals.claims_held}.`, "Run \"rhapsode reconcile\". It restores lost jobs and allows claims again.");
  if (!mine.length) return withoutWorker(queue, workers);
  if (being("unresponsive").length === mine.length) {
    return stuck(`No worker responds: ${names(mine)}.`, "Read their logs and restart them.");
  }
  if (!being("ready").length) {
    if (being("loading").length) return busy(`The model is loading on ${names(being("loading"))}.`, "Wait until the worker is ready.");
    return stuck("All workers are draining. They claim no new work.", "Press \"Resume\" in the table of workers.");
  }
  return ofReady(queue, being("ready"), janitors);
}

function withoutWorker(queue, workers) {
  const able = workers.filter(({ other_models: others }) => others.includes(queue.model));
  if (queue.model && able.length) {
    return busy(`No worker has this model loaded. ${names(able)} can load it.`, "Wait for the change of models, or start a worker for this model.");
  }
  return stuck(`No worker ${WORKS[queue.lane]} for this queue.`, "Start one. If one should be running, read its log.");
}

function ofReady(queue, ready, janitors) {
  const slots = ready.reduce((sum, worker) => sum + (worker.slots ?? 0), 0);
  const leases = ready.reduce((sum, worker) => sum + worker.leases, 0);
  const oldestS = Math.max(...queue.classes.map((entry) => entry.oldest_wait_s ?? 0));
  const isFull = slots ? leases >= slots : leases > 0;
  if (isFull) {
    const left = queue.drain_s === null ? "" : ` The backlog needs about ${span(queue.drain_s)}.`;
    return busy(slots ? `All ${counted(slots, "slot")} are in use.` : `The workers process ${counted(leases, "item")}.`, `Nothing is wrong.${left} More workers shorten the wait.`);
  }
  if (oldestS < PATIENCE_S) return busy("Workers have room and claim the next items now.", "Nothing to do.");
  if (!janitors.length) return stuck("Workers have room, but no janitor runs. It wakes workers after a lost message.", "Start the janitor.");
  if (queue.tickets === null) return stuck("The message broker does not answer.", "Check the Redis of RHAPSODE_BROKER_URL.");
  return stuck(`Workers have room for ${counted(Math.max(1, slots - leases), "item")}, but claim nothing.`, `Read the logs of ${names(ready)}.`);
}

const stuck = (why, action) => ({ why, action, isStuck: true });
const busy = (why, action) => ({ why, action, isStuck: false });

const names = (workers) => workers.slice(0, 3).map(({ name }) => name).join(", ") + (workers.length > 3 ? ` and ${count(workers.length - 3)} more` : "");
