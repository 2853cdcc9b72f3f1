// One queue: what waits in it, by class, and when it will be empty.

import { h } from "../dom.js";
import { count, counted, decimal, span } from "../wording.js";

const LANES = { cpu: "Reading and putting together", gpu: "Speaking", hooks: "Webhooks" };
const CLASSES = { interactive: "Interactive", bulk: "Bulk" };

export function queueCard(queue) {
  return h("article", { class: "queue" },
    h("header", {}, h("h3", {}, queue.model ?? queue.name), h("p", { class: "hint" }, LANES[queue.lane] ?? queue.lane)),
    h("dl", { class: "figures" }, figures(queue).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("table", { class: "classes" },
      h("caption", { class: "visually-hidden" }, "What waits, by class"),
      h("thead", {}, h("tr", {}, ["Class", "Waiting", "Narrations", "Oldest"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, queue.classes.map(classRow))));
}

function figures(queue) {
  return [
    ["Workers", count(queue.workers)],
    ["Slots", count(queue.slots)],
    ["Ready", count(queue.ready_items)],
    ["In work", count(queue.leased_items)],
    ["Pace", queue.pace === null ? "–" : `${decimal(queue.pace)} × real time`],
    ["Empty in", queue.drain_s === null ? "–" : span(queue.drain_s)],
  ];
}

function classRow(entry) {
  const oldest = entry.oldest_wait_s === null ? "–" : span(entry.oldest_wait_s);
  const tenants = entry.tenants > 1 ? ` of ${counted(entry.tenants, "tenant")}` : "";
  return h("tr", {}, h("th", { scope: "row" }, CLASSES[entry.class] ?? entry.class), h("td", {}, span(entry.backlog_audio_s)),
    h("td", {}, `${count(entry.jobs)}${tenants}`), h("td", {}, oldest));
}
