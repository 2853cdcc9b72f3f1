// The page's one dialog.

import { button, h } from "./dom.js";

const dialog = document.getElementById("dialog");
let onClosed = () => {};

// The event comes after closing. By then another dialog may be open.
dialog.addEventListener("close", () => {
  if (!dialog.open) finish();
});

function finish() {
  const told = onClosed;
  onClosed = () => {};
  dialog.replaceChildren();
  told();
}

/** Show `content` over the page. `whenClosed` is called after every way of closing. */
export function openDialog(title, content, whenClosed = () => {}) {
  if (dialog.open) {
    dialog.close();
    finish();
  }
  onClosed = whenClosed;
  dialog.replaceChildren(
    h("div", { class: "head" },
      h("h2", { id: "dialog-title" }, title),
      button("Close", closeDialog, { iconName: "close", kind: "quiet icon-only" })),
    content,
  );
  dialog.showModal();
}

export function closeDialog() {
  dialog.close();
}

/** Whether the user says yes to something that cannot be undone. */
export function confirmed(title, sentence, action) {
  return new Promise((resolve) => {
    let isAgreed = false;
    const agree = () => {
      isAgreed = true;
      closeDialog();
    };
    const content = h("div", { class: "stack" },
      h("p", {}, sentence),
      h("div", { class: "row end" },
        button("Keep it", closeDialog, { kind: "quiet", autofocus: true }),
        button(action, agree, { kind: "danger" })));
    openDialog(title, content, () => resolve(isAgreed));
  });
}
