// Asks for the API key if the server needs one. The key is kept in this tab only.

import { key } from "./api.js";
import { button, h } from "./dom.js";
import { closeDialog, openDialog } from "./dialog.js";

let isAsking = false;
let isDeclined = false;

/** The server needs a key or another key: ask, unless the user has closed the dialog. */
export function demandKey(onChange) {
  if (!isDeclined) askForKey(onChange, { isRefused: Boolean(key.get()) });
}

/** Ask for the key, once at a time; `onChange` is called after a change. `isRefused`: the current key was refused. */
export function askForKey(onChange, { isRefused = false } = {}) {
  if (isAsking) return;
  isAsking = true;
  const field = h("input", {
    id: "api-key", type: "password", autocomplete: "off", spellcheck: "false", value: key.get(), required: true,
  });
  const form = h("form", { class: "stack", method: "dialog", on: { submit: () => change(field.value.trim()) } },
    h("p", {}, isRefused ? "The server refused this key. Use another one." : "Enter an API key for this server."),
    h("p", { class: "hint" }, "The key is kept in this tab until you close it."),
    h("label", { for: "api-key" }, "API key"),
    field,
    h("div", { class: "row end" },
      key.get() ? button("Forget it", () => change(""), { kind: "quiet" }) : null,
      h("button", { type: "submit", class: "primary" }, "Use this key")),
  );

  let isChanged = false;

  function change(value) {
    key.set(value);
    isChanged = true;
    closeDialog();
    onChange();
  }

  openDialog("API key", form, () => {
    isAsking = false;
    isDeclined = !isChanged;
  });
  field.focus();
}
