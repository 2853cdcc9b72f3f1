// The last hours of the fleet, one point a minute, as the API has recorded them.

import { getJson } from "../api.js";
import { h, setHidden } from "../dom.js";
import { repeat } from "../repeating.js";
import { count, decimal, span } from "../wording.js";
import { chart } from "./chart.js";

const LOOK_S = 30;
const HOURS = [1, 6, 24];
const HOUR_MS = 3_600_000;

const share = (value) => `${Math.round(value * 100)} %`;
const milliseconds = (value) => `${decimal(value)} ms`;
const CHARTS = [
  { name: "Throughput", unit: "seconds of speech per second, mean of a minute", lines: { "": (point) => point.audio_s_per_s }, wording: decimal },
  { name: "Backlog", unit: "speech still to make", lines: { "": (point) => point.backlog_audio_s }, wording: span },
  { name: "Time left", unit: "for the backlog, at the measured pace", lines: { "": (point) => point.drain_s }, wording: span },
  {
    name: "Wait for a turn", unit: "in the class with the longest wait", wording: span,
    lines: { median: (point) => point.wait_p50_s, "95th percentile": (point) => point.wait_p95_s, longest: (point) => point.oldest_wait_s },
  },
  {
    name: "Errors", unit: "items in a minute", wording: count,
    lines: { failed: (point) => point.given_up, "waiting for a retry": (point) => point.retries_waiting },
  },
  { name: "Live streams", unit: "open at the same time", lines: { "": (point) => point.live_streams }, wording: count },
  { name: "Batch fill", unit: "share of engine slots in use", lines: { "": (point) => point.batch_fill }, wording: share, ceiling: 1 },
  {
    name: "Engine step", unit: "time of one step", wording: milliseconds,
    lines: { "median worker": (point) => point.step_ms_p50, "slowest worker": (point) => point.step_ms_most },
  },
];

export function fleetHistory() {
  const choice = h("select", { id: "history-hours", on: { change: draw } },
    HOURS.map((hours) => h("option", { value: hours }, hours === 1 ? "The last hour" : `The last ${hours} hours`)));
  const charts = CHARTS.map(chart);
  const grid = h("div", { class: "charts" }, charts.map(({ element }) => element));
  const none = h("p", { class: "blank", hidden: true }, "No points in this time. The API records one each minute.");
  const element = h("section", { class: "stack", "aria-labelledby": "history-title" },
    h("div", { class: "head" }, h("h2", { id: "history-title" }, "History"),
      h("label", { class: "visually-hidden", for: "history-hours" }, "Time range"), choice), none, grid);
  let points = [];
  const refresher = repeat(read, () => LOOK_S);

  async function read(signal) {
    const { data } = await getJson("v1/admin/fleet-history", { signal });
    points = data.map((point) => ({ ...point, atMs: new Date(point.at).getTime() }));
    draw();
  }

  function draw() {
    const endMs = Date.now();
    const startMs = endMs - Number(choice.value) * HOUR_MS;
    const shown = points.filter(({ atMs }) => atMs >= startMs);
    setHidden(none, shown.length > 0);
    setHidden(grid, shown.length === 0);
    for (const each of charts) each.show(shown, startMs, endMs);
  }

  return { element, close: () => refresher.stop() };
}
