// Asking for the API key where the server wants one. It stays in this tab and ends with it.

import { key } from "./api.js";
import { button, h } from "./dom.js";
import { closeDialog, openDialog } from "./dialog.js";

let isAsking = false;
let isDeclined = false;

/** The server wants a key, or another one: ask, unless whoever was asked has closed the dialog. */
export function demandKey(onChange) {
  if (!isDeclined) askForKey(onChange, { isRefused: Boolean(key.get()) });
}

/** Ask for the key, once at a time; `onChange` is called when there is another one. `isRefused`: the one there is. */
export function askForKey(onChange, { isRefused = false } = {}) {
  if (isAsking) return;
  isAsking = true;
  const field = h("input", {
    id: "api-key", type: "password", autocomplete: "off", spellcheck: "false", value: key.get(), required: true,
  });
  const form = h("form", { class: "stack", on: { submit: take } },
    h("p", {}, isRefused ? "This key is not taken, or not any more. Use another one." : "This server serves those who hold a key."),
    h("p", { class: "hint" }, "It is kept in this tab only, until you close it."),
    h("label", { for: "api-key" }, "API key"),
    field,
    h("div", { class: "row end" },
      key.get() ? button("Forget it", forget, { kind: "quiet" }) : null,
      h("button", { type: "submit", class: "primary" }, "Use this key")),
  );

  let isChanged = false;

  function take(event) {
    event.preventDefault();
    change(field.value.trim());
  }

  function forget() {
    change("");
  }

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
