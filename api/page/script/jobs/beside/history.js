// The events of a narration, each with its time and worker.

import { attempt } from "../../api.js";
import { openDialog } from "../../dialog.js";
import { h, setText } from "../../dom.js";
import { follow } from "../../following.js";
import { count, counted, span } from "../../wording.js";
import { findingWords } from "../inspector/findings.js";

const clockTime = new Intl.DateTimeFormat("en", { dateStyle: "short", timeStyle: "medium" });

export function showHistory(jobId) {
  const abort = new AbortController();
  const rows = h("tbody");
  const note = h("p", { class: "hint", role: "status" }, "Reading …");
  openDialog("History", h("div", { class: "stack" }, note,
    h("div", { class: "history-frame", tabindex: "0", role: "region", "aria-label": "History" },
      h("table", {}, h("thead", {}, h("tr", {}, ["When", "What", "By"].map((name) => h("th", { scope: "col" }, name)))), rows))),
  () => abort.abort());
  let length = 0;

  attempt(() => follow(jobId, take, abort.signal), (error) => setText(note, error.message));

  function take({ type, timestamp, data }) {
    const told = wordsOf(type, data.detail);
    if (told === null) return;
    length += 1;
    rows.append(h("tr", {}, h("td", {}, clockTime.format(new Date(timestamp))), h("td", { dir: "auto" }, told), h("td", {}, data.detail.worker ?? "")));
    setText(note, `${counted(length, "step")}. About 500 are kept.`);
  }
}

const SIMPLE = {
  "job.created": "Accepted", "job.started": "Started by a worker", "job.paused": "Paused", "job.resumed": "Goes on", "job.succeeded": "Done",
  "job.cancelled": "Cancelled", "job.expired": "Expired", "batch.completed": "The batch is complete",
};

/** null: no line for this event. */
function wordsOf(type, detail) {
  const passage = detail.segment === undefined ? "" : `Passage ${count(detail.segment + 1)}`;
  switch (type) {
    case "job.segment.completed":
      if (detail.audio_ms === undefined) return `Voice ${count(detail.segment + 1)} prepared`;
      return `${passage} ${spoken(detail.attempts)}, ${span(detail.audio_ms / 1000)}`;
    case "job.segment.flagged":
      return `${passage} kept with findings: ${String(detail.flags).split(",").map(findingWords).join("; ")}`;
    case "job.segment.failed":
      return `${passage} failed: ${detail.detail}`;
    case "job.segment.edited":
      return `${passage} changed: take ${detail.take} will be spoken`;
    case "job.segment.selected":
      return `${passage}: take ${detail.take} chosen`;
    case "job.artifact.created":
      return `${detail.name} made`;
    case "job.reopened":
      return `Reopened: ${detail.reason}`;
    case "job.failed":
      return `Failed: ${detail.detail ?? detail.code ?? ""}`;
    default:
      return SIMPLE[type] ?? null;
  }
}

/** Each attempt is checked. The last one was kept. */
function spoken(attempts) {
  if (attempts === 0) return "reused from an earlier narration";
  return attempts > 1 ? `spoken and checked ${attempts} times` : "spoken and checked";
}
