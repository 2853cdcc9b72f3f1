// Menus of many choices. Each is filled when a pointer or the focus comes near: hundreds of full ones would slow the page.

import { h, replace } from "../../dom.js";

/** `now`: `[value, name]`. `choices()`: all of them, as such pairs. `label`: for screen readers, if `id` has no label. */
export function lateMenu({ label, id = null, now, choices, onChoose }) {
  const select = h("select", { id, "aria-label": label, on: { change: () => onChoose(select.value), focus: fill, pointerenter: fill } });
  let isFilled = false;
  replace(select, option(now));

  function fill() {
    if (isFilled) return;
    isFilled = true;
    const kept = select.value;
    replace(select, choices().map(option));
    select.value = kept;
  }

  return select;
}

function option([value, name]) {
  return h("option", { value, dir: "auto" }, name);
}
