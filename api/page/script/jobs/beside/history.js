// The events of a narration, each with its time and worker. Once there are edits, the other events are behind "All steps".

import { attempt } from "../../api.js";
import { openDialog } from "../../dialog.js";
import { h, setHidden, setText } from "../../dom.js";
import { follow } from "../../following.js";
import { count, counted, span } from "../../wording.js";
import { findingWords } from "../inspector/findings.js";

const clockTime = new Intl.DateTimeFormat("en", { dateStyle: "short", timeStyle: "medium" });

export function showHistory(jobId, segments) {
  const abort = new AbortController();
  const rows = h("tbody");
  const all = h("input", { type: "checkbox", on: { change: choose } });
  const choice = h("label", { class: "check", hidden: true }, all, "All steps");
  const note = h("p", { class: "hint", role: "status" }, "Reading …");
  openDialog("History", h("div", { class: "stack" }, note, choice,
    h("div", { class: "history-frame", tabindex: "0", role: "region", "aria-label": "History" },
      h("table", {}, h("thead", {}, h("tr", {}, ["When", "What", "By"].map((name) => h("th", { scope: "col" }, name)))), rows))),
  () => abort.abort());
  let length = 0;
  let edits = 0;
  let last = null;

  attempt(() => follow(jobId, take, abort.signal), (error) => setText(note, error.message));

  function take({ type, timestamp, data: { detail } }) {
    const [told, many] = wordsOf(type, detail);
    if (!told) return;
    const isEdit = NAMED.has(type);
    length += 1;
    edits += isEdit;
    if (edits === 1) choose();
    const at = new Date(timestamp);
    if (!many || last?.many !== many) {
      last = { many, told, places: [], workers: new Set(), since: at, cells: ["td", "td", "td"].map((name) => h(name, { dir: "auto" })) };
      rows.prepend(h("tr", { class: isEdit ? null : "step" }, last.cells));
    }
    last.places.push(detail.segment);
    if (detail.worker) last.workers.add(detail.worker);
    const words = last.places.length > 1 ? `${count(last.places.length)} ${many}${isEdit ? `: ${last.places.map((place) => count(place + 1)).join(", ")}` : ""}` : isEdit ? `${told} ${opening(segments.items[detail.segment]?.written)}` : told;
    [clockTime.formatRange(last.since, at), words, [...last.workers].join(", ")].forEach((text, place) => setText(last.cells[place], text));
    setText(note, `${edits ? `${counted(edits, "edit")} in ` : ""}${counted(length, "step")}, the newest first. About 500 are kept.`);
  }

  function choose() {
    setHidden(choice, !edits);
    rows.classList.toggle("edits", edits > 0 && !all.checked);
  }
}

const opening = (text) => (text ? `“${text.length > 40 ? `${text.slice(0, 39)}…` : text}”` : "");

/** Each passage of these is named. */
const NAMED = new Set(["job.segment.edited", "job.segment.selected"]);

const SIMPLE = {
  "job.created": "Accepted", "job.started": "Started by a worker", "job.paused": "Paused", "job.resumed": "Goes on", "job.succeeded": "Done",
  "job.cancelled": "Cancelled", "job.expired": "Expired", "batch.completed": "The batch is complete",
};

const CHANGES = { deleted: "deleted", brought_back: "brought back", again: "asked for again" };
const REASONS = { edit: "something was changed", take: "another take was chosen", retry: "tried again", assemble: "for other files" };
const PARTS = { instructions: "speaking style" };

/** The words for one event, none if it has no line; and for several, if they share one. */
function wordsOf(type, detail) {
  const number = count(detail.segment + 1);
  const passage = `Passage ${number}`;
  switch (type) {
    case "job.segment.completed": {
      if (detail.audio_ms === undefined) return [`Voice ${number} prepared`, "voices prepared"];
      if (detail.finish_reason === "left_out") return [`${passage} left out`, "passages left out"];
      const how = spoken(detail.attempts);
      return [`${passage} ${how}, ${span(detail.audio_ms / 1000)}`, `passages ${how}`];
    }
    case "job.segment.flagged":
      return [`${passage} kept with findings: ${String(detail.flags).split(",").map(findingWords).join("; ")}`];
    case "job.segment.failed":
      return [`${passage} failed: ${detail.detail}`];
    case "job.segment.edited":
    case "job.segment.selected": {
      // Earlier servers did not say what was changed.
      const isEdit = type === "job.segment.edited";
      const change = detail.changed ? CHANGES[detail.changed] ?? `with another ${detail.changed.split(",").map((name) => PARTS[name] ?? name).join(" and ")}`
        : isEdit ? "changed or asked for again" : "with another take chosen";
      return [`${passage} ${change}: take ${detail.take}`, `passages ${change}`];
    }
    case "job.artifact.created":
      return [`${detail.name} made`];
    case "job.reopened":
      return [`Reopened: ${REASONS[detail.reason] ?? detail.reason}`];
    case "job.failed":
      return [`Failed: ${detail.detail ?? detail.code ?? ""}`];
    default:
      return [SIMPLE[type]];
  }
}

/** Each attempt is checked. The last one was kept. */
function spoken(attempts) {
  if (attempts === 0) return "reused from an earlier narration";
  return attempts > 1 ? `spoken and checked ${attempts} times` : "spoken and checked";
}
