// The text of a job. Text that is not spoken yet is pale.

import { h } from "../../dom.js";
import { characterOf } from "../inspector/segments.js";
import { SentenceField } from "./sentence_field.js";

/** Paragraphs drawn together. Thousands of single ones slow scrolling. */
const PAGE = 40;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const STATE_WORDS = { pending: "not spoken yet", running: "being spoken", done: "spoken", failed: "failed" };

/**
 * Text of `segments`. `onChoose(index)`: a reader wants to know more of this passage. `onPoint(index)`: the pointer is on
 * it, or on none. `editing`: as `SentenceField` wants it.
 */
export function manuscript(segments, pauses, { onChoose, onPoint, editing }) {
  const element = h("div", { class: "manuscript", role: "group", "aria-label": "Text, passage by passage",
    "aria-describedby": "manuscript-hint", on: { click, keydown, pointerover: point, pointerleave: () => onPoint(null) } });
  const field = new SentenceField({ ...editing, onClosed: closed });
  const spans = [];
  const drawn = [];
  let paragraph = null;
  let reachable = 0;
  let chosen = null;

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
      if (!(element.lastChild?.childElementCount < PAGE)) element.append(h("div", { class: "page" }));
      element.lastChild.append(paragraph);
    }
    const span = h("span", { class: "segment", role: "button", "data-index": index, tabindex: index === reachable ? 0 : -1 });
    spans.push(span);
    paragraph.append(span, " ");
    if (segment.pause_after_s === pauses.heading_s && pauses.heading_s > pauses.paragraph_s) paragraph.classList.add("heading");
    mark(index);
  }

  function mark(index) {
    const segment = segments.items[index];
    const span = spans[index];
    // A sentence that is being changed stays as it is under the hands of its writer.
    const name = nameBefore(index);
    const wanted = `${name}\n${segment.written}\n${segment.flagged}`;
    if (drawn[index] !== wanted && field.index !== index) {
      span.replaceChildren(...(name ? [h("span", { class: "speaker", dir: "auto" }, name), " "] : []), ...sentenceParts(segment),
        ...(segment.flagged ? [h("span", { class: "visually-hidden" }, " (flagged)")] : []));
      drawn[index] = wanted;
      if (index + 1 < spans.length) mark(index + 1);
    }
    span.dataset.state = segment.state;
    span.toggleAttribute("data-flagged", segment.flagged);
    span.title = !segment.written ? "deleted" : segment.flagged ? `${STATE_WORDS[segment.state]}, flagged` : STATE_WORDS[segment.state];
  }

  /** The character who says a passage, where another spoke before; "" for nobody new. */
  function nameBefore(index) {
    const [before, now] = [segments.items[index - 1], segments.items[index]];
    const name = characterOf(now);
    return before && spans[index - 1].parentElement === spans[index].parentElement && characterOf(before) === name ? "" : name;
  }

  function point({ target }) {
    onPoint(indexOf(target));
  }

  /** The first click chooses a passage, the second one changes the sentence under it. */
  function click(event) {
    const index = indexOf(event.target);
    if (index === null || index === field.index && event.target.closest(".sentence") === field.element) return;
    const sentence = event.target.closest(".sentence");
    if (index === chosen && sentence) {
      edit(index, Number(sentence.dataset.number), { x: event.clientX, y: event.clientY });
      return;
    }
    reach(index);
    onChoose(index);
  }

  function keydown(event) {
    const index = indexOf(event.target);
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (index === null || index === field.index) return;
    if (event.key in moves) {
      event.preventDefault();
      focus(Math.max(0, Math.min(spans.length - 1, index + moves[event.key])));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onChoose(index);
    }
  }

  function edit(index, number, point = null) {
    if (!field.leave(undefined, true)) return;
    const sentence = spans[index].querySelector(`[data-number="${number}"]`);
    if (!sentence) return;
    spans[index].removeAttribute("role");
    spans[index].removeAttribute("tabindex");
    field.open(sentence, { index, number, id: segments.items[index].sentences[number].id }, point);
  }

  function closed(index, next) {
    spans[index].setAttribute("role", "button");
    spans[index].tabIndex = index === reachable ? 0 : -1;
    drawn[index] = null;
    mark(index);
    if (next === undefined) return;
    if (spans[index].querySelector(`[data-number="${next}"]`)) edit(index, next);
    else focus(index);
  }

  /** One stop for the Tab key in the whole text; arrows go from passage to passage. */
  function reach(index) {
    spans[reachable].tabIndex = -1;
    reachable = index;
    spans[index].tabIndex = 0;
  }

  function focus(index) {
    reach(index);
    spans[index].focus({ preventScroll: chosen === index });
  }

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
    edit,
    field,
    setChosen(index) {
      if (field.index !== index) field.leave(undefined, true);
      chosen = index;
      only("chosen", index);
    },
    /** The place for a passage's details: after its paragraph. */
    putBehind: (index, what) => spans[index].parentElement.after(what),
    paragraphOf: (index) => [...spans[index].parentElement.querySelectorAll(".segment")].map((each) => Number(each.dataset.index)),
    setPointed: (index) => only("pointed", index),
    show: (index) => spans[index]?.scrollIntoView({ block: "center", behavior: still.matches ? "auto" : "smooth" }),
    setHeard(index) {
      if (!only("heard", index)) return;
      const span = spans[index];
      if (span && isFollowed(element)) span.scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
    },
  };
}

/** A passage's text as its sentences and what stands between them. */
function sentenceParts({ written, sentences }) {
  const parts = [];
  let at = 0;
  sentences.forEach(({ text }, number) => {
    const from = written.indexOf(text, at);
    if (from < 0) return;
    parts.push(written.slice(at, from), h("span", { class: "sentence", "data-number": number }, text));
    at = from + text.length;
  });
  return [...parts, written.slice(at), written ? null : h("span", { class: "left-out" }, "deleted")].filter(Boolean);
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

export function manuscriptHint() {
  return h("p", { class: "hint", id: "manuscript-hint" }, "Click the text to open a passage: a few sentences spoken together. Then click a sentence in it to change the sentence.");
}
