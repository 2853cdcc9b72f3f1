// Elements from values. Text is always set as text: names, titles and texts are data, never markup.

const ICONS = {
  play: "M8 5.5v13l10.5-6.5z",
  pause: "M8 5.5v13M16 5.5v13",
  stop: "M7 7h10v10H7z",
  next: "M6 6v12l8.5-6zM17.5 6v12",
  previous: "M18 6v12l-8.5-6zM6.5 6v12",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  download: "M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14",
  microphone: "M12 4a2.5 2.5 0 0 1 2.5 2.5v5a2.5 2.5 0 0 1-5 0v-5A2.5 2.5 0 0 1 12 4zM6.5 11.5a5.5 5.5 0 0 0 11 0M12 17v3.5",
  file: "M7 3.5h7l4 4v13H7zM14 3.5v4h4",
  volume: "M5 10v4h3l4 3.5v-11L8 10zM15.5 9.5a3.5 3.5 0 0 1 0 5M17.8 7a7 7 0 0 1 0 10",
  back: "M14.5 5.5L8 12l6.5 6.5",
};

/** An element. `properties`: attributes; `on` holds listeners, `class` class names, false and null leave one out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A field below its label. */
export function field(label, input) {
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
}

/** A place for errors. Screen readers read them at once. */
export const alerts = () => h("div", { class: "notices", role: "alert" });

export function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", class: `icon icon-${name}`, "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/** A button. One of the kind "icon-only" shows its label only to screen readers and when pointed at. */
export function button(label, onClick, { iconName = null, kind = null, ...properties } = {}) {
  const isIcon = kind?.includes("icon-only");
  const text = h("span", { class: isIcon ? "visually-hidden" : null }, label);
  return h("button", { type: "button", class: kind, title: isIcon ? label : null, ...properties, on: { click: onClick } }, iconName && icon(iconName), text);
}

/** Set a text only if it differs, so that screen readers do not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setHidden(element, isHidden) {
  if (element.hidden !== isHidden) element.hidden = isHidden;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** `isNew(value)`: whether its JSON is another than at the last call. */
export function changes() {
  let last = "";
  return function isNew(value) {
    const before = last;
    last = JSON.stringify(value);
    return last !== before;
  };
}

let styles = null;

/** The styles that the first view does without, once they have come. */
export function laterStyles() {
  styles ??= new Promise((resolve, reject) => {
    const href = new URL("../style/later.css", import.meta.url);
    document.head.append(h("link", { rel: "stylesheet", href, on: { load: resolve, error: reject } }));
  });
  return styles;
}

/** Change a part of the page. If its focused button goes, another button of that part gets the focus. */
export function keepingFocus(element, change) {
  const active = document.activeElement;
  const isInside = active !== element && element.contains(active);
  change();
  if (isInside && !canHoldFocus(active)) firstButton(element)?.focus({ preventScroll: true });
}

/**
 * Disables `element` until `action` is done. Then the focus returns to the element of `home` that had it, or to the
 * first button of `home` if that element is gone.
 */
export async function whileBusy(element, action, home = element) {
  const active = document.activeElement;
  const isInside = home.contains(active);
  element.inert = true;
  try {
    await action();
  } finally {
    element.inert = false;
    // Browsers move the focus with the next frame. After a faster answer it is still on the old element.
    const holder = document.activeElement;
    if (isInside && home.isConnected && (holder === document.body || !canHoldFocus(holder))) {
      (canHoldFocus(active) ? active : firstButton(home))?.focus({ preventScroll: true });
    }
  }
}

function canHoldFocus(element) {
  return element.isConnected && !element.disabled && !element.closest("[hidden]");
}

function firstButton(element) {
  return [...element.querySelectorAll("button.primary"), ...element.querySelectorAll("button")].find(canHoldFocus);
}

/** Screen readers read it. With `isShown` the page shows it for some seconds, also when the next one comes. */
export function announce(sentence, isShown = false) {
  setText(document.getElementById("announcements"), sentence);
  if (!isShown) return;
  setText(told, sentence);
  document.body.append(told);
  clearTimeout(hiding);
  hiding = setTimeout(() => told.remove(), TOLD_MS);
}

/** Clears these sentences when their sound ends. */
export function announceEnd(...sentences) {
  if (sentences.includes(document.getElementById("announcements").textContent)) announce("");
}

const TOLD_MS = 8_000;
const told = h("p", { class: "told", "aria-hidden": "true" });
let hiding = 0;

/**
 * A list whose rows keep their elements when its data changes, so that no click gets lost.
 * Returns `show(entries)` for `[key, value]` pairs in the order wanted. `make(key)` gives a row: its `element`, and
 * `show(value)` to update it. A row without an entry is removed.
 */
export function keyed(parent, make) {
  const rows = new Map();

  function rowOf(key) {
    if (!rows.has(key)) rows.set(key, make(key));
    return rows.get(key);
  }

  return function show(entries) {
    const wanted = new Set(entries.map(([key]) => key));
    for (const [key, { element }] of rows) {
      if (wanted.has(key)) continue;
      element.remove();
      rows.delete(key);
    }
    entries.forEach(([key, value], place) => {
      const row = rowOf(key);
      row.show(value);
      if (parent.children[place] !== row.element) parent.insertBefore(row.element, parent.children[place] ?? null);
    });
  };
}
