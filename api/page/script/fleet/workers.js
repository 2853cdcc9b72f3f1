// The workers, one a row, each of which can be told to finish and take nothing new.

import { sendJson } from "../api.js";
import { button, h, keepingFocus, setHidden, setText, whileBusy } from "../dom.js";
import { ago, count, decimal } from "../wording.js";

const STATES = { loading: "Loading", ready: "Ready", draining: "Draining", drained: "Drained", unresponsive: "Unresponsive" };
const BADGES = { loading: "processing", ready: "ready", draining: "processing", drained: "none", unresponsive: "failed" };
const ROLES = { gpu: "speaks", cpu: "reads and puts together", hooks: "sends webhooks", janitor: "keeps house" };

export const COLUMNS = ["Worker", "State", "Model", "Slots in use", "Batch fill", "Speech a second", "Step", "Voices kept", "Last report", "Action"];

/** A row; `show(worker)` brings it up to date. `onTrouble(problem)` is told what was refused. */
export function workerRow(onTrouble) {
  const name = h("span", { class: "worker-name" });
  const role = h("span", { class: "worker-role" });
  const badge = h("span", { class: "badge" });
  const used = h("span");
  const fill = h("span", { class: "row-fill" });
  const bar = h("span", { class: "mini-bar", "aria-hidden": "true" }, fill);
  const [model, batchFill, speech, step, voices, seen] = Array.from({ length: 6 }, () => h("td"));
  const drain = button("Drain", () => wish("drain"), { title: "Finish what it holds and take nothing new" });
  const undrain = button("Take up again", () => wish("undrain"));
  const actions = h("td", {}, drain, undrain);
  const element = h("tr", {}, h("th", { scope: "row" }, name, role), h("td", {}, badge), model,
    h("td", {}, h("span", { class: "slots" }, used, bar)), batchFill, speech, step, voices, seen, actions);
  let worker = null;

  async function wish(verb) {
    try {
      await whileBusy(actions, async () => show(await sendJson("POST", `v1/admin/workers/${encodeURIComponent(worker.name)}/${verb}`)));
    } catch (error) {
      if (error.name !== "Problem") throw error;
      onTrouble(error);
    }
  }

  function show(next) {
    worker = next;
    element.dataset.state = next.state;
    setText(name, next.name);
    setText(role, `${ROLES[next.role]}, process ${next.pid} on ${next.host}`);
    setText(badge, STATES[next.state] ?? next.state);
    badge.dataset.state = BADGES[next.state] ?? "none";
    setText(model, [next.model ?? "–", ...next.other_models].join(" or "));
    showSlots(next);
    setText(batchFill, known(next.engine?.batch_fill, (value) => `${Math.round(value * 100)} %`));
    setText(speech, known(next.engine?.audio_s_per_s, (value) => `${decimal(value)} s`));
    setText(step, known(next.engine?.step_ms, (value) => `${decimal(value)} ms`));
    setText(voices, known(next.voice_cache?.voices, count));
    setText(seen, ago(next.seen_at));
    keepingFocus(actions, () => {
      setHidden(drain, next.role === "janitor" || next.state !== "ready");
      setHidden(undrain, !["draining", "drained"].includes(next.state));
    });
    for (const [press, label] of [[drain, "Drain"], [undrain, "Take up again"]]) press.setAttribute("aria-label", `${label}: ${next.name}`);
  }

  function showSlots({ slots, leases }) {
    setText(used, slots === null ? known(leases, count) : placesUsed(leases ?? 0, slots));
    setHidden(bar, !slots);
    if (slots) fill.style.setProperty("--fraction", Math.min(1, (leases ?? 0) / slots));
  }

  return { element, show };
}

/** A worker also holds what is checked and stored, and what it takes up next: these have no slot. */
const placesUsed = (leases, slots) => `${count(Math.min(leases, slots))} of ${count(slots)}${leases > slots ? `, ${count(leases - slots)} more in hand` : ""}`;

const known = (value, wording) => (value === null || value === undefined ? "–" : wording(value));
