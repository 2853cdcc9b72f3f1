// A job at a glance: a bar for every segment, as high as its text is long, coloured by what became of it.

import { h } from "../dom.js";

const HEIGHT = 64;
const LEAST_BAR = 2;
const WIDEST_STEP = 18;
const COLOURS = { pending: "--bar-waiting", running: "--bar-running", done: "--bar-done", failed: "--bar-failed" };
const RANK = { failed: 4, flagged: 3, running: 2, pending: 1, done: 0 };

export function strip(segments, onChoose) {
  const canvas = h("canvas", { class: "strip", height: HEIGHT, "aria-hidden": "true", on: { click } });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let heard = null;
  let isDue = false;

  const watcher = new ResizeObserver(draw);
  watcher.observe(canvas);
  dark.addEventListener("change", draw);
  segments.addEventListener("change", draw);

  function draw() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(paint);
  }

  function paint() {
    isDue = false;
    const scale = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (!width || !segments.length) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    pen.scale(scale, scale);
    const columns = Math.min(segments.length, Math.floor(width / (LEAST_BAR + 1)));
    const step = Math.min(WIDEST_STEP, width / columns);
    const gap = step > 4 ? 1.5 : 0.6;
    for (let column = 0; column < columns; column += 1) {
      const shown = columnOf(segments, column, columns);
      const tall = 8 + (HEIGHT - 8) * Math.min(1, Math.sqrt(shown.length / 300));
      pen.fillStyle = style.getPropertyValue(shown.isHeard(heard) ? "--bar-heard" : shown.colour);
      pen.beginPath();
      pen.roundRect(column * step, (HEIGHT - tall) / 2, Math.max(LEAST_BAR, Math.min(step - gap, 14)), tall, 2);
      pen.fill();
    }
  }

  function click(event) {
    const box = canvas.getBoundingClientRect();
    const used = Math.min(box.width, segments.length * WIDEST_STEP);
    const index = Math.floor(((event.clientX - box.left) / used) * segments.length);
    if (segments.items[index]) onChoose(index);
  }

  return {
    element: canvas,
    setHeard(index) {
      heard = index;
      draw();
    },
    close() {
      watcher.disconnect();
      dark.removeEventListener("change", draw);
    },
  };
}

/** The segments that share a column: the longest gives its height, the most urgent its colour. */
function columnOf(segments, column, columns) {
  const first = Math.floor((column * segments.length) / columns);
  const end = Math.max(first + 1, Math.floor(((column + 1) * segments.length) / columns));
  const items = segments.items.slice(first, end).filter(Boolean);
  const kinds = items.map((item) => (item.flagged ? "flagged" : item.state));
  const kind = kinds.reduce((worst, each) => (RANK[each] > RANK[worst] ? each : worst), "done");
  return {
    length: Math.max(0, ...items.map((item) => item.text.length)),
    colour: kind === "flagged" ? "--bar-flagged" : COLOURS[kind],
    isHeard: (index) => index !== null && index >= first && index < end,
  };
}
