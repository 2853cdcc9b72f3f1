// The text of a job. Text that is not spoken yet is pale.

import { freshId, h, setHidden } from "../../dom.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const STATE_WORDS = { pending: "not spoken yet", running: "being spoken", done: "spoken", failed: "failed" };

/** Text of `segments`. `onChoose(index)` is called when one is chosen. */
export function manuscript(segments, pauses, { onChoose, onPoint }) {
  const element = h("div", { class: "manuscript", role: "group", "aria-label": "Text, passage by passage",
    "aria-describedby": "manuscript-hint", on: { click, keydown, pointerover: point, pointerleave: () => onPoint(null) } });
  const spans = [];
  let paragraph = null;
  let reachable = 0;

  segments.addEventListener("change", ({ detail }) => {
    for (const index of detail.indexes ?? []) {
      if (index < spans.length) mark(index);
    }
    while (spans.length < segments.length && segments.items[spans.length]) append(spans.length);
  });

  function append(index) {
    const segment = segments.items[index];
    const before = segments.items[index - 1];
    const isNewChapter = before && before.chapter !== segment.chapter;
    if (!before || isNewChapter || before.pause_after_s >= pauses.paragraph_s) {
      paragraph = h("p", { dir: "auto", class: isNewChapter ? "chapter-start" : null });
      element.append(paragraph);
    }
    const span = h("span", { class: "segment", role: "button", "data-index": index, tabindex: index === reachable ? 0 : -1,
      id: freshId("segment") });
    spans.push(span);
    paragraph.append(span, " ");
    if (segment.pause_after_s === pauses.heading_s && pauses.heading_s > pauses.paragraph_s) paragraph.classList.add("heading");
    mark(index);
  }

  function mark(index) {
    const segment = segments.items[index];
    const span = spans[index];
    if (span.textContent !== segment.written) span.textContent = segment.written;
    span.dataset.state = segment.state;
    span.toggleAttribute("data-flagged", segment.flagged);
    span.title = segment.flagged ? `${STATE_WORDS[segment.state]}, flagged` : STATE_WORDS[segment.state];
  }

  function point({ target }) {
    onPoint(indexOf(target));
  }

  function click(event) {
    const index = indexOf(event.target);
    if (index === null) return;
    reach(index);
    onChoose(index);
  }

  function keydown(event) {
    const index = indexOf(event.target);
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (index === null) return;
    if (event.key in moves) {
      event.preventDefault();
      focus(Math.max(0, Math.min(spans.length - 1, index + moves[event.key])));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onChoose(index);
    }
  }

  /** One stop for the Tab key in the whole text; arrows go from passage to passage. */
  function reach(index) {
    spans[reachable].tabIndex = -1;
    reachable = index;
    spans[index].tabIndex = 0;
  }

  function focus(index) {
    reach(index);
    spans[index].focus();
  }

  /** Whether it has changed. */
  function only(name, index) {
    const [before, now] = [element.querySelector(`.${name}`), spans[index] ?? null];
    if (before === now) return false;
    before?.classList.remove(name);
    now?.classList.add(name);
    return true;
  }

  return {
    element,
    focus,
    setChosen: (index) => only("chosen", index),
    /** The place for a passage's details: after its paragraph. */
    putBehind: (index, what) => spans[index].parentElement.after(what),
    /** The passages of its paragraph. */
    paragraphOf: (index) => [...spans[index].parentElement.querySelectorAll(".segment")].map((each) => Number(each.dataset.index)),
    setPointed: (index) => only("pointed", index),
    /** Scroll to it. */
    show: (index) => spans[index]?.scrollIntoView({ block: "center", behavior: still.matches ? "auto" : "smooth" }),
    setHeard(index) {
      if (!only("heard", index)) return;
      const span = spans[index];
      if (span && isFollowed(element)) span.scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
    },
  };
}

/** Scrolls along unless the reader has scrolled elsewhere. */
function isFollowed(element) {
  const active = document.activeElement;
  return !document.hidden && element.isConnected && !(active && element.contains(active));
}

function indexOf(target) {
  const span = target.closest?.(".segment");
  return span ? Number(span.dataset.index) : null;
}

/** The hint below the text. */
export function manuscriptHint() {
  const hint = h("p", { class: "hint", id: "manuscript-hint" }, "Choose a passage to hear it, see its checks, change a sentence or speak it again.");
  setHidden(hint, false);
  return hint;
}
