// One action for several chosen narrations.

import { attempt, request, sendJson } from "../api.js";
import { alerts, button, h, replace, setHidden, setText, whileBusy } from "../dom.js";
import { counted, isOver } from "../wording.js";
import { showProblem } from "./compose/fields.js";

/** `chosen()`: the jobs that are; `onDone(id, isGone)` after each that is done; `onEnd`: choosing has ended. */
export function bulkBar({ chosen, onDone, onEnd }) {
  const line = h("p", { class: "bulk-line", role: "status" });
  const trouble = alerts();
  const cancel = button("Cancel selected", () => each((job) => !isOver(job.state), (job) => sendJson("POST", `v1/jobs/${job.id}/cancel`)));
  const drop = button("Delete selected", remove, { kind: "danger" });
  const end = button("Done", onEnd, { kind: "quiet" });
  const buttons = h("div", { class: "row" }, cancel, drop);
  const element = h("div", { class: "bulk", hidden: true }, h("div", { class: "row" }, line, end), buttons, trouble);

  function show() {
    const jobs = chosen();
    setText(line, jobs.length ? `${counted(jobs.length, "narration")} selected` : "Select narrations in the list.");
    cancel.disabled = !jobs.some(({ state }) => !isOver(state));
    drop.disabled = !jobs.some(({ state }) => isOver(state));
  }

  async function remove() {
    const { confirmed } = await import("../dialog.js");
    const over = chosen().filter(({ state }) => isOver(state));
    const isAgreed = await confirmed(`Delete ${counted(over.length, "narration")}?`, "This also deletes their audio and all their files. Unfinished narrations stay.", "Delete");
    if (isAgreed) await each((job) => isOver(job.state), (job) => request("DELETE", `v1/jobs/${job.id}`), true);
  }

  /** One after the other, until one fails. */
  async function each(isMeant, action, isGone = false) {
    replace(trouble);
    await whileBusy(buttons, async () => {
      for (const job of chosen().filter(isMeant)) {
        await attempt(async () => {
          await action(job);
          onDone(job.id, isGone);
        }, (error) => showProblem(trouble, error));
      }
    });
    show();
  }

  return {
    element,
    show,
    setOpen(isOpen) {
      setHidden(element, !isOpen);
      replace(trouble);
      show();
    },
  };
}
