// Other files of a narration that is done: nothing is spoken again, only put together anew.

import { getJson, sendJson } from "../../api.js";
import { closeDialog, openDialog } from "../../dialog.js";
import { h, replace, whileBusy } from "../../dom.js";
import { formatFields, showProblem } from "./fields.js";

/** Ask which files the job is to have and order them; `onJob(job)` is told of the job as it is taken up. */
export async function chooseFormats(job, onJob) {
  const { output } = job.request;
  const formats = formatFields();
  const subtitles = h("input", { type: "checkbox", checked: output.subtitles.length > 0 });
  const trouble = h("div", { class: "notices", role: "alert" });
  const form = h("form", { class: "stack", novalidate: true, on: { submit: order } },
    formats.element,
    h("label", { class: "check" }, subtitles, "Subtitles (SRT and WebVTT)"),
    h("p", { class: "hint" }, "Nothing is spoken again. The files of now stay, but for those that are made again under their name."),
    trouble,
    h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Make these files")));
  formats.show((await getJson("v1/capabilities")).output_formats, output.formats.map(({ type }) => type));
  openDialog("Files of this narration", form);

  /** As the job has them: one type may be there as a whole and in chapters. */
  function kept(type) {
    const found = output.formats.filter((format) => format.type === type);
    return found.length ? found : null;
  }

  async function order(event) {
    event.preventDefault();
    replace(trouble);
    try {
      await whileBusy(form, async () => {
        const wanted = formats.value().flatMap((format) => kept(format.type) ?? [format]);
        const changed = { formats: wanted, subtitles: subtitles.checked ? ["srt", "vtt"] : [] };
        onJob(await sendJson("POST", `v1/jobs/${job.id}/assemble`, { output: changed }));
        closeDialog();
      });
    } catch (error) {
      if (error.name !== "Problem") throw error;
      showProblem(trouble, error);
    }
  }
}
