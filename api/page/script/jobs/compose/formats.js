// More files of a finished narration, made from its speech.

import { attempt, getJson, sendJson } from "../../api.js";
import { closeDialog, openDialog } from "../../dialog.js";
import { alerts, h, replace, whileBusy } from "../../dom.js";
import { formatFields, showProblem } from "./fields.js";

export async function chooseFormats(job, onJob) {
  const { output } = job.request;
  const formats = formatFields();
  const subtitles = h("input", { type: "checkbox", checked: output.subtitles.length > 0 });
  const trouble = alerts();
  const form = h("form", { class: "stack", novalidate: true, on: { submit: order } },
    formats.element,
    h("label", { class: "check" }, subtitles, "Subtitles (SRT and WebVTT)"),
    h("p", { class: "hint" }, "The speech stays the same. A new file replaces the old one of its name, and links to the old one end."),
    trouble,
    h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Make these files")));
  formats.show((await getJson("v1/capabilities")).output_formats, output.formats.map(({ type }) => type));
  openDialog("Files of this narration", form);

  /** As the job has it: one type may be both whole and in chapters. */
  function kept(format) {
    const found = output.formats.filter(({ type }) => type === format.type);
    return found.length ? found : [format];
  }

  async function order(event) {
    event.preventDefault();
    replace(trouble);
    await attempt(() => whileBusy(form, async () => {
      const changed = { formats: formats.value().flatMap(kept), subtitles: subtitles.checked ? ["srt", "vtt"] : [] };
      onJob(await sendJson("POST", `v1/jobs/${job.id}/assemble`, { output: changed }));
      closeDialog();
    }), (error) => showProblem(trouble, error));
  }
}
