// The workers, one a row.

import { h } from "../dom.js";
import { ago, count, decimal } from "../wording.js";

const STATES = { ready: "Ready", draining: "Draining", drained: "Drained", silent: "Silent" };

export function workerRows(workers) {
  return workers.map((worker) => h("tr", { "data-state": worker.state },
    h("th", { scope: "row" }, h("span", { class: "worker-name" }, worker.name), h("span", { class: "worker-role" }, `${worker.role}, process ${worker.pid}`)),
    h("td", {}, h("span", { class: "badge", "data-state": badge(worker.state) }, STATES[worker.state] ?? worker.state)),
    h("td", {}, worker.model ?? "–"),
    h("td", {}, slots(worker)),
    ...engineCells(worker.engine),
    h("td", {}, worker.voice_cache ? count(worker.voice_cache.voices) : "–"),
    h("td", {}, ago(worker.seen_at))));
}

function slots({ slots: all, leases }) {
  if (all === null) return leases === null ? "–" : count(leases);
  return h("span", { class: "slots" }, `${count(leases ?? 0)} of ${count(all)}`, fillBar(all ? (leases ?? 0) / all : 0));
}

function engineCells(engine) {
  if (!engine) return [h("td", {}, "–"), h("td", {}, "–"), h("td", {}, "–")];
  return [
    h("td", {}, shown(engine.batch_fill, (value) => `${Math.round(value * 100)} %`)),
    h("td", {}, shown(engine.audio_s_per_s, (value) => `${decimal(value)} s`)),
    h("td", {}, shown(engine.step_ms, (value) => `${decimal(value)} ms`)),
  ];
}

const shown = (value, wording) => (value === null || value === undefined ? "–" : wording(value));

function fillBar(fraction) {
  const fill = h("span", { class: "row-fill" });
  fill.style.setProperty("--fraction", Math.min(1, fraction));
  return h("span", { class: "mini-bar", "aria-hidden": "true" }, fill);
}

const badge = (state) => ({ ready: "ready", draining: "processing", drained: "none", silent: "failed" })[state] ?? "none";
