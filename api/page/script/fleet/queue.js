// One queue: what waits in it, by class, and when it will be empty.

import { h, setHidden, setText } from "../dom.js";
import { keyed } from "../keyed.js";
import { count, counted, decimal, span } from "../wording.js";

const LANES = { cpu: "Reading and putting together", gpu: "Speaking", hooks: "Telling other servers" };
const CLASSES = { interactive: "Interactive", bulk: "Bulk" };
const NAMES = { cpu: "Texts and files", hooks: "Webhooks" };
const MISSING = {
  cpu: "Items wait, and no worker is ready to plan texts and assemble files.",
  gpu: "Items wait, and no worker is ready to speak.",
  hooks: "Webhooks wait, and no worker is ready to send them.",
};
const COLUMNS = ["Class", "Waiting", "Narrations", "Oldest"];

/** A card; `show(queue)` brings it up to date. */
export function queueCard() {
  const name = h("h3");
  const lane = h("p", { class: "hint" });
  const missing = h("p", { class: "notice bad", hidden: true });
  const figures = h("dl", { class: "figures" });
  const classes = h("tbody");
  const showFigures = keyed(figures, figure);
  const showClasses = keyed(classes, classRow);

  return {
    element: h("article", { class: "queue" }, h("header", {}, name, lane), missing, figures,
      h("table", { class: "classes" },
        h("caption", { class: "visually-hidden" }, "What waits, by class"),
        h("thead", {}, h("tr", {}, COLUMNS.map((column) => h("th", { scope: "col" }, column)))),
        classes)),
    show(queue) {
      setText(name, queue.model ?? NAMES[queue.lane] ?? queue.name.replace(/^gpu\./, ""));
      setText(lane, LANES[queue.lane] ?? queue.lane);
      setText(missing, MISSING[queue.lane]);
      setHidden(missing, queue.workers > 0 || !queue.classes.some((entry) => entry.jobs || entry.backlog_audio_s));
      showFigures(figuresOf(queue));
      showClasses(queue.classes.map((entry) => [entry.class, entry]));
    },
  };
}

function figure() {
  const [name, value] = [h("dt"), h("dd")];
  return {
    element: h("div", {}, name, value),
    show([label, text]) {
      setText(name, label);
      setText(value, text);
    },
  };
}

function figuresOf(queue) {
  const found = [
    ["Workers", count(queue.workers)],
    ["Slots", queue.slots ? count(queue.slots) : "–"],
    ["Ready", count(queue.ready_items)],
    ["In work", count(queue.leased_items)],
    ["Pace, last minute", queue.pace === null ? "–" : `${decimal(queue.pace)} s`],
    ["Empty at that pace in", queue.drain_s === null ? "–" : span(queue.drain_s)],
  ];
  return found.map((entry) => [entry[0], entry]);
}

function classRow() {
  const cells = [h("th", { scope: "row" }), h("td"), h("td"), h("td")];
  return {
    element: h("tr", {}, cells),
    show(entry) {
      const tenants = entry.tenants > 1 ? ` of ${counted(entry.tenants, "tenant")}` : "";
      const oldest = entry.oldest_wait_s === null ? "–" : span(entry.oldest_wait_s);
      const texts = [CLASSES[entry.class] ?? entry.class, span(entry.backlog_audio_s), `${count(entry.jobs)}${tenants}`, oldest];
      texts.forEach((text, place) => setText(cells[place], text));
    },
  };
}
