// A link to a file that needs no key.

import { attempt, sendJson } from "../../api.js";
import { openDialog } from "../../dialog.js";
import { alerts, announce, button, field, h, replace, setHidden, setText, whileBusy } from "../../dom.js";
import { moment } from "../../wording.js";
import { showProblem } from "../compose/fields.js";

const TERMS = [["An hour", 3600], ["A day", 86_400], ["A week", 604_800]];

/** `files`: names of the finished files. */
export function shareFile(jobId, files) {
  const file = h("select", { id: "share-file" }, files.map((name) => h("option", { value: name }, name)));
  const term = h("select", { id: "share-term" }, TERMS.map(([label, seconds]) => h("option", { value: seconds, selected: seconds === 86_400 }, label)));
  const link = h("input", { id: "share-link", type: "text", readonly: true, on: { focus: showLink } });
  const note = h("p", { class: "hint", role: "status" });
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(link.value);
    setText(copy.firstChild, "Copied");
    announce("Link copied");
  });
  const result = h("div", { class: "stack", hidden: true }, h("label", { for: "share-link" }, "Link"),
    h("div", { class: "inline-field" }, link, navigator.clipboard ? copy : null), note);
  const trouble = alerts();
  const form = h("form", { class: "stack", on: { submit: make } },
    h("p", {}, "Anyone who has the link can hear or download this file. They need no API key."),
    h("div", { class: "grid" },
      field("File", file),
      field("For", term)),
    trouble,
    h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Make a link")), result);

  /** Browsers scroll to the end of what is selected. */
  function showLink() {
    link.select();
    requestAnimationFrame(() => {
      link.scrollLeft = 0;
    });
  }

  async function make(event) {
    event.preventDefault();
    replace(trouble);
    await attempt(async () => {
      await whileBusy(form, async () => {
        const path = `v1/jobs/${jobId}/artifacts/${encodeURIComponent(file.value)}/share`;
        const shared = await sendJson("POST", path, { expires_in_s: Number(term.value) });
        link.value = shared.url;
        const isHere = ["127.0.0.1", "localhost", "[::1]"].includes(new URL(shared.url).hostname);
        replace(note, `${isHere ? "This link works on this machine only. " : ""}Valid until ${moment(shared.expires_at)}. It ends earlier if the file is made again or the narration is deleted. File name: ${shared.filename}.`);
        setText(copy.firstChild, "Copy");
        setHidden(result, false);
      });
      link.focus();
    }, (error) => showProblem(trouble, error));
  }

  openDialog("Share", form);
}
