// One chart of the history: up to three lines over a time axis.

import { h, replace, setText, svg } from "../dom.js";
import { dayClock } from "../wording.js";

const WIDTH = 480;
const HEIGHT = 96;
const MINUTE_MS = 60_000;
/** No line joins points that are further apart: nothing was recorded between them. */
const GAP_MS = 3 * MINUTE_MS;
/** Minutes between two times on the axis. The first that gives at most `MOST_TIMES` is used. */
const STEPS = [15, 30, 60, 120, 240, 360];
const MOST_TIMES = 5;

/**
 * `lines`: name -> a function from a point to its value, null where nothing was measured. `wording`: a value as text.
 * `ceiling`: the value at the top of the chart; without it, the highest value shown.
 */
export function chart({ name, unit, lines, wording, ceiling = null }) {
  const grid = svg("path", { class: "history-grid" });
  const area = svg("path", { class: "history-area" });
  const drawn = Object.entries(lines).map(([label, of]) => ({ label, of, line: svg("path", { class: "history-line" }), value: h("strong") }));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, grid, area, ...drawn.map(({ line }) => line));
  const top = h("span");
  const times = h("div", { class: "chart-times", "aria-hidden": "true" });
  const values = h("p", { class: "chart-values" }, drawn.map(({ label, value }) => h("span", { class: "chart-value" }, label && `${label} `, value)));
  return {
    element: h("figure", { class: "chart" },
      h("figcaption", {}, h("strong", {}, name), " ", h("span", { class: "hint" }, unit)), values,
      h("div", { class: "chart-top", "aria-hidden": "true" }, top), picture, times),
    /** `points` have `atMs`; the axis goes from `startMs` to `endMs`. */
    show(points, startMs, endMs) {
      const found = drawn.map(({ of }) => points.filter((point) => of(point) !== null));
      const highest = Math.max(0, ...found.flatMap((known, place) => known.map(drawn[place].of)));
      const x = (ms) => ((ms - startMs) / (endMs - startMs)) * WIDTH;
      const y = (value) => HEIGHT - 2 - (value / ((ceiling ?? highest) || 1)) * (HEIGHT - 6);
      drawn.forEach(({ of, line, value, label }, place) => {
        const runs = runsOf(found[place]).map((run) => run.map((point) => [x(point.atMs), y(of(point))].map((each) => each.toFixed(1))));
        line.setAttribute("d", runs.map((run) => `M${run.join("L")}${run.length === 1 ? "h1" : ""}`).join(""));
        if (drawn.length === 1) area.setAttribute("d", runs.map((run) => `M${run[0][0]},${HEIGHT}L${run.join("L")}L${run.at(-1)[0]},${HEIGHT}Z`).join(""));
        setText(value, newest(points, of, wording));
      });
      setText(top, wording(ceiling ?? highest));
      const now = drawn.map(({ label, of }) => `${label} ${newest(points, of, wording)}`.trim()).join(", ");
      picture.setAttribute("aria-label", `${name}: now ${now}, at most ${wording(highest)}`);
      const ticks = ticksOf(startMs, endMs);
      grid.setAttribute("d", ticks.map((ms) => `M${x(ms).toFixed(1)},0V${HEIGHT}`).join(""));
      replace(times, ticks.map((ms) => timeAt(ms, (x(ms) / WIDTH) * 100)));
    },
  };
}

/** The value of the last point. A dash if nothing was measured then. */
function newest(points, of, wording) {
  const value = points.length ? of(points.at(-1)) : null;
  return value === null ? "–" : wording(value);
}

function runsOf(points) {
  const found = [];
  for (const point of points) {
    const run = found.at(-1);
    if (run && point.atMs - run.at(-1).atMs <= GAP_MS) run.push(point);
    else found.push([point]);
  }
  return found;
}

/** Round local times within the axis. */
function ticksOf(startMs, endMs) {
  const spanMs = endMs - startMs;
  const stepMs = (STEPS.find((minutes) => spanMs / MINUTE_MS / minutes <= MOST_TIMES) ?? STEPS.at(-1)) * MINUTE_MS;
  const midnightMs = new Date(startMs).setHours(0, 0, 0, 0);
  const ticks = [];
  for (let ms = midnightMs + Math.ceil((startMs - midnightMs) / stepMs) * stepMs; ms <= endMs; ms += stepMs) ticks.push(ms);
  return ticks;
}

function timeAt(ms, percent) {
  const time = h("span", {}, dayClock(ms));
  time.style.setProperty("--at", `${Math.min(95, Math.max(5, percent)).toFixed(1)}%`);
  return time;
}
