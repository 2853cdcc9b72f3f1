// One passage: how it was spoken and checked, its takes, and having it spoken again.

import { getJson, sendJson } from "../api.js";
import { button, h, keepingFocus, replace, setHidden } from "../dom.js";
import { count, decimal, span } from "../wording.js";

const STATES = { pending: "Not spoken yet", running: "Being spoken", done: "Spoken", failed: "Failed" };

export function inspector(jobId, segments, { onChanged, onPlay }) {
  const element = h("section", { class: "inspector", "aria-label": "Chosen passage", hidden: true, on: { keydown } });
  let index = null;
  let takes = null;
  let shown = "";

  segments.addEventListener("change", ({ detail }) => {
    if (index === null || !(detail.indexes === null || detail.indexes.includes(index))) return;
    draw();
    if (takes && takes.length !== segments.items[index].takes) readTakes();
  });

  const path = () => `v1/jobs/${jobId}/segments/${index}`;

  function draw() {
    const segment = segments.items[index];
    const text = JSON.stringify([index, segment, takes]);
    if (text === shown) return;
    shown = text;
    keepingFocus(element, () => replace(element, parts(segment)));
  }

  function parts(segment) {
    return [
      h("div", { class: "inspector-head" },
        h("h2", {}, `Passage ${count(index + 1)}`),
        h("span", { class: "inspector-state", "data-state": segment.state }, segment.flagged ? "Flagged" : STATES[segment.state]),
        button("Close", closeIt, { iconName: "close", kind: "quiet icon-only", showsLabel: false })),
      h("p", { class: "inspector-facts" }, factsOf(segment).join(" · ")),
      segment.findings?.length ? h("p", { class: "notice warn" }, `The quality gate found: ${segment.findings.join(", ").replaceAll("_", " ")}`) : null,
      h("div", { class: "row" },
        segment.state === "done" ? button("Play from here", () => onPlay(index), { iconName: "play", kind: "primary" }) : null,
        segment.state === "done" ? button("Speak it again", again) : null,
        segment.takes > 1 && !takes ? button(`Compare ${segment.takes} takes`, readTakes) : null),
      takes ? h("ul", { class: "takes" }, takes.map(take)) : null,
    ];
  }

  async function again() {
    await attempt(async () => {
      segments.put(await sendJson("POST", `${path()}/regenerate`));
      onChanged();
    });
  }

  async function readTakes() {
    await attempt(async () => {
      const wanted = index;
      const { data } = await getJson(`${path()}/takes`);
      if (wanted !== index) return;
      takes = data;
      draw();
    });
  }

  function take({ take: number, selected, duration_s: duration, flagged }) {
    const facts = `Take ${number} · ${span(duration ?? 0)}${flagged ? " · flagged" : ""}`;
    return h("li", {}, facts, selected ? h("strong", {}, "In place") : button("Use it", () => select(number), { kind: "quiet" }));
  }

  async function select(number) {
    await attempt(async () => {
      segments.put(await sendJson("POST", `${path()}/takes/${number}/select`));
      await readTakes();
      onChanged();
    });
  }

  async function attempt(action) {
    try {
      await action();
    } catch (error) {
      if (error.name !== "Problem") throw error;
      element.append(h("p", { class: "notice bad", role: "alert" }, error.message));
    }
  }

  function closeIt() {
    const was = index;
    index = null;
    takes = null;
    shown = "";
    setHidden(element, true);
    element.dispatchEvent(new CustomEvent("closed", { detail: was }));
  }

  function keydown(event) {
    if (event.key === "Escape") closeIt();
  }

  return {
    element,
    show(wanted) {
      if (wanted !== index) takes = null;
      index = wanted;
      setHidden(element, false);
      draw();
      element.querySelector("button.primary")?.focus({ preventScroll: true });
    },
    refresh: () => index !== null && draw(),
  };
}

function factsOf(segment) {
  const facts = [segment.voice];
  if (segment.speaker) facts.push(segment.speaker);
  if (segment.duration_s) facts.push(span(segment.duration_s));
  if (segment.chars_per_s) facts.push(`${decimal(segment.chars_per_s)} characters a second`);
  if (segment.attempts > 1) facts.push(`${segment.attempts} attempts`);
  if (segment.reused) facts.push("reused from an earlier narration");
  return facts;
}
