// One queue: what waits in it, since when, why, and what to do.

import { h, keyed, setHidden, setText } from "../dom.js";
import { count, counted, dayClock, decimal, span } from "../wording.js";
import { causeOf } from "./waiting.js";

const LANES = { cpu: "Plans texts and assembles files", gpu: "Speaks", hooks: "Sends webhooks" };
const CLASSES = { interactive: "Interactive", bulk: "Bulk" };
const NAMES = { cpu: "Texts and files", hooks: "Webhooks" };
const COLUMNS = ["Class", "To speak", "Waiting", "Wait, 95\u00a0%", "Longest"];

/** A card; `show({ queue, workers, totals })` updates it. */
export function queueCard() {
  const name = h("h3");
  const lane = h("p", { class: "hint" });
  const cause = h("dl", { class: "notice cause", hidden: true });
  const figures = h("dl", { class: "figures" });
  const classes = h("tbody");
  const link = h("a", { hidden: true }, "Show its narrations");
  const showCause = keyed(cause, figure);
  const showFigures = keyed(figures, figure);
  const showClasses = keyed(classes, classRow);

  return {
    element: h("article", { class: "queue" }, h("header", {}, name, lane), cause, figures,
      h("table", { class: "classes" },
        h("caption", { class: "visually-hidden" }, "Waiting work by class"),
        h("thead", {}, h("tr", {}, COLUMNS.map((column) => h("th", { scope: "col" }, column)))),
        classes), link),
    show({ queue, workers, totals }) {
      setText(name, queue.model ?? NAMES[queue.lane] ?? queue.name.replace(/^gpu\./, ""));
      setText(lane, LANES[queue.lane] ?? queue.lane);
      const found = causeOf(queue, workers, totals);
      setHidden(cause, !found);
      if (found) cause.classList.toggle("bad", found.isStuck);
      showCause(found ? rowsOfCause(queue, found) : []);
      showFigures(figuresOf(queue));
      showClasses(queue.classes.map((entry) => [entry.class, { ...entry, lane: queue.lane }]));
      setHidden(link, queue.lane !== "gpu");
      link.href = `#/?queue=${encodeURIComponent(queue.name)}`;
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

function rowsOfCause(queue, { why, action }) {
  const jobs = queue.classes.reduce((sum, entry) => sum + entry.jobs, 0);
  const oldestS = Math.max(0, ...queue.classes.map((entry) => entry.oldest_wait_s ?? 0));
  return [
    ["Waiting", `${counted(jobs, "narration")} with ${counted(queue.ready_items, queue.lane === "gpu" ? "passage" : "step")}`],
    ["Since", `${dayClock(Date.now() - oldestS * 1000)} (${span(oldestS)})`],
    ["Why", why],
    ["What to do", action],
  ].map((row) => [row[0], row]);
}

function figuresOf(queue) {
  const found = [
    ["Workers", count(queue.workers)],
    ["Slots", queue.slots ? count(queue.slots) : "–"],
    ["Ready items", count(queue.ready_items)],
    ["In progress", count(queue.leased_items)],
    ["Pace", queue.pace === null ? "–" : `${decimal(queue.pace)} s/s`],
    ["Time left", queue.drain_s === null ? "–" : span(queue.drain_s)],
  ];
  return found.map((entry) => [entry[0], entry]);
}

function classRow() {
  const cells = [h("th", { scope: "row" }), ...COLUMNS.slice(1).map(() => h("td"))];
  return {
    element: h("tr", {}, cells),
    show(entry) {
      const tenants = entry.tenants > 1 ? ` of ${counted(entry.tenants, "tenant")}` : "";
      const waits = [entry.wait_p95_s, entry.oldest_wait_s].map((wait) => (wait === null ? "–" : span(wait)));
      const speech = entry.lane === "gpu" ? span(entry.backlog_audio_s) : "–";
      const texts = [CLASSES[entry.class] ?? entry.class, speech, `${count(entry.jobs)}${tenants}`, ...waits];
      texts.forEach((text, place) => setText(cells[place], text));
    },
  };
}
