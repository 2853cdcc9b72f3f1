// How the fleet was over the last hours, minute by minute, as the server kept it.

import { getJson } from "../api.js";
import { h, replace, setHidden, setText } from "../dom.js";
import { repeat } from "../repeating.js";
import { count, decimal, span } from "../wording.js";

const LOOK_S = 30;
const WIDTH = 480;
const HEIGHT = 96;
const SVG = "http://www.w3.org/2000/svg";
const HOURS = [1, 6, 24];
const MINUTE_MS = 60_000;
/** Minutes that are further apart are not joined by a line: nobody was there to note what was between. */
const GAP_MS = 3 * MINUTE_MS;

const share = (value) => `${Math.round(value * 100)} %`;
const milliseconds = (value) => `${decimal(value)} ms`;
const CHARTS = [
  { name: "Speech made", unit: "seconds of speech a second", of: (minute) => minute.audio_s_per_s, wording: decimal },
  { name: "Batch fill", unit: "of the slots there are", of: (minute) => minute.batch_fill, wording: share, ceiling: 1 },
  { name: "Backlog", unit: "of speech that waits", of: (minute) => minute.backlog_audio_s, wording: span },
  { name: "Longest wait", unit: "of a narration for its turn", of: (minute) => minute.oldest_wait_s, wording: span },
  { name: "A step, median", unit: "of the engines", of: (minute) => minute.step_ms_p50, wording: milliseconds },
  { name: "Given up", unit: "passages in the list of what was", of: (minute) => minute.dead_letters, wording: count },
];

export function fleetHistory() {
  const choice = h("select", { id: "history-hours", on: { change: draw } },
    HOURS.map((hours) => h("option", { value: hours }, hours === 1 ? "The last hour" : `The last ${hours} hours`)));
  const charts = CHARTS.map(chart);
  const grid = h("div", { class: "charts" }, charts.map(({ element }) => element));
  const none = h("p", { class: "blank", hidden: true }, "Nothing was noted yet: the janitor does so once a minute.");
  const element = h("section", { class: "stack", "aria-labelledby": "history-title" },
    h("div", { class: "history-head" }, h("h2", { id: "history-title" }, "How it was"),
      h("label", { class: "visually-hidden", for: "history-hours" }, "How far back"), choice), none, grid);
  let minutes = [];
  const refresher = repeat(read, () => LOOK_S);

  async function read(signal) {
    minutes = (await getJson("v1/admin/fleet-history", { signal })).data;
    draw();
  }

  function draw() {
    const endMs = Date.now();
    const startMs = endMs - Number(choice.value) * 60 * MINUTE_MS;
    const shown = minutes.map((minute) => ({ ...minute, atMs: new Date(minute.at).getTime() })).filter(({ atMs }) => atMs >= startMs);
    setHidden(none, shown.length > 0);
    setHidden(grid, shown.length === 0);
    for (const each of charts) each.show(shown, startMs, endMs);
  }

  return { element, close: () => refresher.stop() };
}

/** One figure over time, with its highest value and the time below. */
function chart({ name, unit, of, wording, ceiling = null }) {
  const svg = document.createElementNS(SVG, "svg");
  const area = document.createElementNS(SVG, "path");
  const line = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  area.setAttribute("class", "history-area");
  line.setAttribute("class", "history-line");
  svg.append(area, line);
  const [top, now] = [h("span"), h("span", { class: "chart-now" })];
  const times = h("div", { class: "chart-times", "aria-hidden": "true" });
  return {
    element: h("figure", { class: "chart" },
      h("figcaption", {}, h("strong", {}, name), " ", h("span", { class: "hint" }, unit), now),
      h("div", { class: "chart-top", "aria-hidden": "true" }, top), svg, times),
    show(minutes, startMs, endMs) {
      const known = minutes.filter((minute) => of(minute) !== null);
      const highest = Math.max(0, ...known.map(of));
      const scale = (ceiling ?? highest) || 1;
      const last = known.length ? wording(of(known.at(-1))) : "–";
      setText(top, wording(ceiling ?? highest));
      setText(now, last);
      svg.setAttribute("aria-label", `${name}: now ${last}, at most ${wording(highest)}`);
      const place = (minute) => [((minute.atMs - startMs) / (endMs - startMs)) * WIDTH, HEIGHT - 2 - (of(minute) / scale) * (HEIGHT - 6)];
      const runs = stretches(known).map((run) => run.map(place).map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`));
      line.setAttribute("d", runs.map((points) => `M${points.join("L")}${points.length === 1 ? "h1" : ""}`).join(""));
      area.setAttribute("d", runs.map((points) => `M${points[0].split(",")[0]},${HEIGHT}L${points.join("L")}L${points.at(-1).split(",")[0]},${HEIGHT}Z`).join(""));
      replace(times, [startMs, (startMs + endMs) / 2, endMs].map((moment) => h("span", {}, clockOf(moment))));
    },
  };
}

function stretches(minutes) {
  const found = [];
  for (const minute of minutes) {
    const run = found.at(-1);
    if (run && minute.atMs - run.at(-1).atMs <= GAP_MS) run.push(minute);
    else found.push([minute]);
  }
  return found;
}

const clockOf = (moment) => new Date(moment).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
