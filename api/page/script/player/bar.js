// The player bar: title, position, speed and volume.

import { button, h, icon, replace, setText } from "../dom.js";
import { clock, span } from "../wording.js";

const SPEEDS = [0.75, 1, 1.25, 1.5, 1.75, 2];
const STEP_S = 5;

/** `on`: what its buttons do, by name: `toggle`, `step(direction)`, `seek(seconds)`, `close`, `rate(value)`, `volume(value)`. */
export function playerBar(element, on) {
  const toggle = button("Pause", on.toggle, { iconName: "pause", kind: "primary icon-only round" });
  const back = button("Previous passage", () => on.step(-1), { iconName: "previous", kind: "quiet icon-only" });
  const ahead = button("Next passage", () => on.step(1), { iconName: "next", kind: "quiet icon-only" });
  const close = button("Close the player", on.close, { iconName: "close", kind: "quiet icon-only" });
  const title = h("a", { class: "player-title", href: "#/", dir: "auto" });
  const line = h("p", { class: "player-line", dir: "auto" });
  const time = h("span", { class: "player-time" });
  const total = h("span", { class: "player-total" });
  const place = h("input", { type: "range", class: "player-place", min: 0, step: "any", "aria-label": "Position in the narration", on: { input: seek, keydown } });
  const rate = h("select", { id: "player-rate", on: { change: () => on.rate(Number(rate.value)) } },
    SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed} ×`)));
  const volume = h("input", { type: "range", id: "player-volume", min: 0, max: 1, step: 0.05, value: 1, on: { input: () => on.volume(volume.valueAsNumber) } });
  replace(element,
    h("div", { class: "player-line-of-time" }, time, place, total),
    h("div", { class: "player-row" },
      h("div", { class: "player-buttons" }, back, toggle, ahead),
      h("div", { class: "player-text" }, title, line),
      h("div", { class: "player-sound" },
        h("label", { class: "visually-hidden", for: "player-rate" }, "Tempo"), rate,
        h("label", { class: "player-volume", for: "player-volume", title: "Volume" }, icon("volume"), h("span", { class: "visually-hidden" }, "Volume"), volume)),
      close));
  let isHeld = false;

  place.addEventListener("pointerdown", () => {
    isHeld = true;
  });
  for (const type of ["pointerup", "pointercancel"]) place.addEventListener(type, () => { isHeld = false; });

  function seek() {
    on.seek(place.valueAsNumber);
  }

  /** Steps of seconds. A browser's default step is a hundredth of the book. */
  function keydown(event) {
    const steps = { ArrowRight: STEP_S, ArrowUp: STEP_S, ArrowLeft: -STEP_S, ArrowDown: -STEP_S };
    if (event.key in steps) on.seek(place.valueAsNumber + steps[event.key]);
    else if (event.key === "PageDown" || event.key === "PageUp") on.step(event.key === "PageDown" ? 1 : -1);
    else return;
    event.preventDefault();
  }

  return {
    /** Title and passage, which change only with another narration. */
    open({ name, href }) {
      title.href = href;
      setText(title, name);
    },
    /** `whole`: the length, or the length so far while more is spoken. */
    show({ at, whole, isPaused, passage, isWhole }) {
      setText(time, clock(at));
      setText(total, `${clock(Math.round(whole))}${isWhole ? "" : " so far"}`);
      if (!isHeld) {
        place.max = Math.max(whole, at, 0.1);
        place.value = at;
      }
      place.setAttribute("aria-valuetext", `${span(Math.floor(at))} of ${span(Math.floor(whole))}`);
      place.style.setProperty("--fraction", whole ? Math.min(1, at / whole) : 0);
      setText(line, passage);
      const [name, label] = isPaused ? ["play", "Go on"] : ["pause", "Pause"];
      if (toggle.dataset.icon === name) return;
      toggle.dataset.icon = name;
      toggle.title = label;
      replace(toggle, icon(name), h("span", { class: "visually-hidden" }, label));
    },
  };
}
