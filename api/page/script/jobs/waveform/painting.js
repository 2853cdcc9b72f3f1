// Paints a waveform onto a canvas, from layout, peaks and view. Has no state.

import { clock } from "../../wording.js";

const BAR = 2;
const GAP = 1;
const TIMES_HEIGHT = 18;
const TICKS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const LEAST_TICK = 70;
const UNKNOWN = 40;

/** A section with its sentences, the playing position and the time axis. */
export function paintStretch(canvas, layout, segments, peaks, view) {
  const pen = opened(canvas);
  const { width, height } = size(canvas);
  const tall = height - TIMES_HEIGHT;
  const scale = width / view.span;
  const xOf = (seconds) => (seconds - view.from) * scale;
  const colour = palette(canvas);
  const end = view.from + view.span;
  for (let index = Math.max(0, layout.at(Math.max(0, view.from)) ?? 0); index < layout.count && layout.startOf(index) < end; index += 1) {
    paintRegions(index);
    paintBars(index);
  }
  paintTimes();
  if (view.pointer !== null) paintLine(view.pointer, colour("--line-strong"), 1);
  if (view.position !== null) paintLine(view.position, colour("--accent"), 2);

  function paintRegions(index) {
    const item = segments.items[index];
    const isMarked = index === view.heard || index === view.pointed;
    const sentences = layout.sentencesOf(index);
    sentences.forEach(({ from, to }) => {
      if (item.flagged || item.state === "failed") pen.fillStyle = colour(item.state === "failed" ? "--bad-soft" : "--warn-soft");
      else pen.fillStyle = colour(index === view.heard ? "--accent-soft" : isMarked ? "--line" : "--sunk");
      pen.beginPath();
      pen.roundRect(xOf(from) + 0.5, 0, Math.max(1, (to - from) * scale - 1), tall, 4);
      pen.fill();
    });
    if (item.state === "running") {
      pen.setLineDash([3, 3]);
      pen.strokeStyle = colour("--ink-soft");
      pen.strokeRect(xOf(layout.startOf(index)) + 0.5, 0.5, layout.lengthOf(index) * scale - 1, tall - 1);
      pen.setLineDash([]);
    }
    if (!item.flagged) return;
    pen.fillStyle = colour("--bar-flagged");
    pen.fillRect(xOf(sentences[0]?.from ?? layout.startOf(index)), tall - 3, layout.lengthOf(index) * scale, 3);
  }

  function paintBars(index) {
    const item = segments.items[index];
    const known = peaks.of(index);
    const [start, length] = [layout.startOf(index), layout.lengthOf(index)];
    const plain = colour(barColour(item));
    const heard = colour("--bar-heard");
    const first = Math.max(0, Math.ceil(xOf(start) / (BAR + GAP)));
    for (let column = first; column * (BAR + GAP) < Math.min(width, xOf(start + length)); column += 1) {
      const from = view.from + (column * (BAR + GAP)) / scale;
      const share = loudest(known, (from - start) / length, (from + (BAR + GAP) / scale - start) / length);
      pen.fillStyle = view.position !== null && from < view.position ? heard : plain;
      const bar = Math.max(2, share * (tall - 16));
      pen.fillRect(column * (BAR + GAP), (tall - bar) / 2, BAR, bar);
    }
  }

  function paintTimes() {
    const step = TICKS_S.find((seconds) => seconds * scale >= LEAST_TICK) ?? TICKS_S.at(-1);
    pen.fillStyle = colour("--ink-faint");
    pen.font = `11px ${getComputedStyle(canvas).fontFamily}`;
    pen.textBaseline = "bottom";
    for (let seconds = Math.ceil(view.from / step) * step; seconds < end; seconds += step) {
      pen.fillRect(xOf(seconds), tall, 1, 4);
      const told = clock(seconds);
      // A time cut off at the edge could be misread.
      if (xOf(seconds) + 4 + pen.measureText(told).width <= width) pen.fillText(told, xOf(seconds) + 4, height);
    }
  }

  function paintLine(seconds, style, thick) {
    pen.fillStyle = style;
    pen.fillRect(xOf(seconds) - thick / 2, 0, thick, tall);
  }
}

/** The whole narration, with a frame around the visible section. */
export function paintWhole(canvas, layout, segments, peaks, view) {
  const pen = opened(canvas);
  const { width, height } = size(canvas);
  const colour = palette(canvas);
  const columns = Math.floor(width / (BAR + GAP));
  const perColumn = layout.total / columns;
  pen.fillStyle = colour("--line");
  pen.beginPath();
  pen.roundRect((view.from / layout.total) * width, 0, Math.max(4, (view.span / layout.total) * width), height, 4);
  pen.fill();
  let index = 0;
  for (let column = 0; column < columns; column += 1) {
    const from = column * perColumn;
    while (index + 1 < layout.count && layout.startOf(index + 1) <= from) index += 1;
    let [item, share] = [segments.items[index], 0];
    for (let each = index; each < layout.count && layout.startOf(each) < from + perColumn; each += 1) {
      const [start, length] = [layout.startOf(each), layout.lengthOf(each)];
      share = Math.max(share, loudest(peaks.of(each), (from - start) / length, (from + perColumn - start) / length));
      if (rank(segments.items[each]) > rank(item)) item = segments.items[each];
    }
    const isHeard = view.position !== null && from < view.position;
    pen.fillStyle = colour(isHeard && rank(item) < 2 ? "--bar-heard" : barColour(item));
    const bar = Math.max(2, share * (height - 6));
    pen.fillRect(column * (BAR + GAP), (height - bar) / 2, BAR, bar);
  }
}

function opened(canvas) {
  const scale = devicePixelRatio || 1;
  const { width, height } = size(canvas);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return pen;
}

const size = (canvas) => ({ width: canvas.clientWidth, height: canvas.clientHeight });

/** Gives a colour by its CSS variable, which holds one for light and one for dark. */
function palette(canvas) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) {
      canvas.style.color = `var(${name})`;
      known.set(name, getComputedStyle(canvas).color);
    }
    return known.get(name);
  };
}

const COLOURS = { pending: "--bar-waiting", running: "--bar-running", done: "--bar-done", failed: "--bar-failed" };

const barColour = ({ state, flagged }) => (flagged && state === "done" ? "--bar-flagged" : COLOURS[state]);

/** States that must stay visible where several share a column. */
const rank = ({ state, flagged }) => (state === "failed" ? 3 : flagged ? 2 : state === "running" ? 1 : 0);

/** From 0 to 1, of what lies between two shares of a segment. */
function loudest(known, from, to) {
  if (to <= 0 || from >= 1) return 0;
  if (!known) return UNKNOWN / 255;
  const first = Math.max(0, Math.min(known.length - 1, Math.floor(from * known.length)));
  const end = Math.max(first + 1, Math.min(known.length, Math.ceil(to * known.length)));
  let highest = 0;
  for (let place = first; place < end; place += 1) highest = Math.max(highest, known[place]);
  return (highest / 255) ** 0.7;
}
