// The workers, one in a row. Each can be drained: it finishes its work and claims nothing new.

import { attempt, sendJson } from "../api.js";
import { button, h, keepingFocus, setHidden, setText, whileBusy } from "../dom.js";
import { ago, count, decimal } from "../wording.js";

const STATES = { loading: "Loading", ready: "Ready", draining: "Draining", drained: "Drained", unresponsive: "Unresponsive" };
const BADGES = { loading: "processing", ready: "ready", draining: "processing", drained: "none", unresponsive: "failed" };
const ROLES = { gpu: "speaks", cpu: "plans and assembles", hooks: "sends webhooks", janitor: "repairs and removes" };

export const COLUMNS = ["Worker", "State", "Model", "Slots in use", "Batch fill", "Throughput", "Step", "Voices in memory", "Live streams", "Action"];

/** A row; `show(worker)` updates it. `onTrouble(problem)` gets a refused request. */
export function workerRow(onTrouble) {
  const name = h("span", { class: "worker-name" });
  const role = h("span", { class: "worker-role" });
  const badge = h("span", { class: "badge" });
  const used = h("span");
  const fill = h("span", { class: "row-fill" });
  const bar = h("span", { class: "mini-bar", "aria-hidden": "true" }, fill);
  const seen = h("span", { class: "worker-role" });
  const [model, batchFill, speech, step, voices, live] = Array.from({ length: 6 }, () => h("td"));
  const drain = button("Drain", () => wish("drain"), { title: "Finish its work and claim nothing new" });
  const undrain = button("Resume", () => wish("undrain"));
  const actions = h("td", {}, drain, undrain);
  const element = h("tr", {}, h("th", { scope: "row" }, name, role), h("td", {}, badge, seen), model,
    h("td", {}, h("span", { class: "slots" }, used, bar)), batchFill, speech, step, voices, live, actions);
  let worker = null;

  function wish(verb) {
    return attempt(() => whileBusy(actions, async () => show(await sendJson("POST", `v1/admin/workers/${encodeURIComponent(worker.name)}/${verb}`))), onTrouble);
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
    setText(speech, known(next.engine?.audio_s_per_s, (value) => `${decimal(value)} s/s`));
    setText(step, known(next.engine?.step_ms, (value) => `${decimal(value)} ms`));
    setText(voices, known(next.voice_cache?.voices, count));
    setText(live, next.live_slots === null ? "–" : `${count(next.live_streams)} of ${count(next.live_slots)}`);
    setText(seen, next.state === "unresponsive" ? `last report ${ago(next.seen_at)}` : "");
    keepingFocus(actions, () => {
      setHidden(drain, next.role === "janitor" || next.state !== "ready");
      setHidden(undrain, !["draining", "drained"].includes(next.state));
    });
    for (const [press, label] of [[drain, "Drain"], [undrain, "Resume"]]) press.setAttribute("aria-label", `${label}: ${next.name}`);
  }

  function showSlots({ slots, leases }) {
    setText(used, slots === null ? known(leases, count) : placesUsed(leases ?? 0, slots));
    setHidden(bar, !slots);
    if (slots) fill.style.setProperty("--fraction", Math.min(1, (leases ?? 0) / slots));
  }

  return { element, show };
}

/** A worker also holds items that it checks, stores or has fetched early. They use no slot. */
const placesUsed = (leases, slots) => `${count(Math.min(leases, slots))} of ${count(slots)}${leases > slots ? `, ${count(leases - slots)} more in progress` : ""}`;

const known = (value, wording) => (value === null || value === undefined ? "–" : wording(value));
