// The waveform: one minute with its sentences, and an overview above.

import { announce, button, h, setHidden, setText } from "../../dom.js";
import { clock, span } from "../../wording.js";
import { Layout } from "./layout.js";
import { paintStretch, paintWhole } from "./painting.js";

const VIEW_S = 45;
const [LEAST_S, MOST_S] = [5, 600];
const ZOOM = 1.5;
/** Position of the playhead after the picture has moved. */
const LEAD = 0.15;
const LEAVES = 0.85;
/** After a manual scroll, the view does not follow playback for this long. */
const LET_BE_MS = 6000;
const MOST_WORDS = 70;

/** `onSeek(index, offsetS)`: play from there. `onPoint(index)`: the segment under the pointer, or null. */
export function waveform(segments, peaks, { onSeek, onPoint, signal }) {
  const layout = new Layout(segments);
  const whole = h("canvas", { class: "wave-whole", "aria-hidden": "true", hidden: true });
  const stretch = h("canvas", { class: "wave", "aria-hidden": "true" });
  const caption = h("p", { class: "wave-caption", "aria-hidden": "true", dir: "auto" });
  const zooming = h("div", { class: "row", hidden: true },
    button("Zoom out", () => zoomBy(ZOOM), { iconName: "minus", kind: "quiet icon-only" }),
    button("Zoom in", () => zoomBy(1 / ZOOM), { iconName: "plus", kind: "quiet icon-only" }));
  const element = h("div", { class: "waveform" }, whole, stretch, h("div", { class: "wave-foot" }, caption, zooming));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const view = { from: 0, span: VIEW_S, heard: null, position: null, pointed: null, pointer: null };
  let wanted = VIEW_S;
  let isDue = false;
  let isMeasured = false;
  let movedAt = -Infinity;

  const watcher = new ResizeObserver(draw);
  watcher.observe(element);
  dark.addEventListener("change", draw, { signal });
  segments.addEventListener("change", changed, { signal });
  peaks.addEventListener("change", draw, { signal });
  signal.addEventListener("abort", () => watcher.disconnect());

  function changed() {
    isMeasured = false;
    draw();
  }

  function draw() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(paint);
  }

  function paint() {
    isDue = false;
    if (!element.clientWidth || !segments.length) return;
    if (!isMeasured) {
      layout.measure();
      isMeasured = true;
    }
    view.span = Math.min(wanted, Math.max(1, layout.total));
    view.from = Math.max(0, Math.min(view.from, layout.total - view.span));
    for (const part of [whole, zooming]) setHidden(part, layout.total <= LEAST_S);
    paintStretch(stretch, layout, segments, peaks, view);
    if (!whole.hidden) paintWhole(whole, layout, segments, peaks, view);
  }

  function secondsAt(canvas, event) {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return canvas === whole ? share * layout.total : view.from + share * view.span;
  }

  function point(canvas, event) {
    view.pointer = secondsAt(canvas, event);
    const index = layout.at(view.pointer);
    if (canvas === stretch && index !== view.pointed) {
      view.pointed = index;
      onPoint(index);
    }
    setText(caption, index === null ? "" : `${clock(view.pointer)} · ${wordsAt(index, view.pointer)}`);
    draw();
  }

  function leave() {
    [view.pointer, view.pointed] = [null, null];
    setText(caption, "");
    onPoint(null);
    draw();
  }

  function wordsAt(index, seconds) {
    const found = layout.sentencesOf(index);
    const { text } = (found.find(({ to }) => seconds < to) ?? found.at(-1))?.sentence ?? segments.items[index];
    return text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS)} …` : text;
  }

  function show(seconds) {
    view.from = seconds - view.span * LEAD;
    draw();
  }

  /** The playhead keeps its place in the picture; without one, the middle does. */
  function zoomBy(factor) {
    const { from, position } = view;
    const isSeen = position !== null && position >= from && position <= from + view.span;
    zoomAround(isSeen ? position : from + view.span / 2, factor);
    announce(`${span(view.span)} in sight`);
  }

  function zoomAround(seconds, factor) {
    const share = (seconds - view.from) / view.span;
    wanted = Math.max(LEAST_S, Math.min(view.span * factor, layout.total, MOST_S));
    view.span = wanted;
    view.from = seconds - share * wanted;
    movedAt = performance.now();
    draw();
  }

  function seek(canvas, event) {
    const seconds = secondsAt(canvas, event);
    const index = layout.at(seconds);
    if (index === null) return;
    if (canvas === whole) show(seconds);
    if (segments.isDone(index)) onSeek(index, Math.min(seconds - layout.startOf(index), layout.lengthOf(index)));
  }

  for (const canvas of [whole, stretch]) {
    canvas.addEventListener("pointermove", (event) => point(canvas, event));
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("click", (event) => seek(canvas, event));
  }
  stretch.addEventListener("wheel", (event) => {
    // Browsers tell two fingers that part as this key with the wheel.
    if (event.ctrlKey) {
      event.preventDefault();
      zoomAround(secondsAt(stretch, event), event.deltaY < 0 ? 1 / ZOOM : ZOOM);
      return;
    }
    if (Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    movedAt = performance.now();
    view.from += (event.deltaX / stretch.clientWidth) * view.span;
    draw();
  }, { passive: false });

  return {
    element,
    startOf(index) {
      if (!isMeasured) layout.measure();
      return layout.startOf(index);
    },
    setPointed(index) {
      view.pointed = index;
      draw();
    },
    bring(index) {
      const start = layout.startOf(index);
      if (start < view.from || start > view.from + view.span) show(start);
    },
    /** The playing position, `{segment, position}`; null if nothing plays. */
    setHeard(now) {
      view.heard = now?.segment ?? null;
      // Player and waveform use the same times where everything is spoken.
      view.position = now?.position ?? null;
      const isLeft = now && (now.position < view.from || now.position > view.from + view.span * LEAVES);
      if (isLeft && performance.now() - movedAt > LET_BE_MS && view.from + view.span < layout.total + 0.01) {
        const isAtEnd = view.from + view.span >= layout.total - 0.01 && now.position >= view.from;
        if (!isAtEnd) show(now.position);
      }
      draw();
    },
  };
}
