// What can be done with a job in its state.

import { attempt, request, sendJson } from "../api.js";
import { confirmed } from "../dialog.js";
import { button, h, keepingFocus, setHidden, whileBusy } from "../dom.js";
import { isOver, jobTitle } from "../wording.js";

const PRIORITIES = { high: "High", normal: "Normal", low: "Low" };

export function jobActions(id, { onJob, onReopened, onDeleted, onTrouble }) {
  const resume = button("Resume work", post("resume", onReopened), { kind: "primary" });
  const pause = button("Pause work", post("pause"));
  const cancel = button("Cancel", post("cancel"), { kind: "danger" });
  const again = button("Try again", post("retry", onReopened), { kind: "primary" });
  const drop = button("Delete", remove, { kind: "quiet danger" });
  const choice = h("select", { id: "job-priority", on: { change: () => busily(changePriority) } },
    Object.entries(PRIORITIES).map(([name, label]) => h("option", { value: name }, label)));
  const priority = h("span", { class: "inline-field" }, h("label", { for: "job-priority" }, "Priority"), choice);
  const element = h("div", { class: "row" }, resume, pause, cancel, priority, again, drop);
  let known = "";
  let title = "";

  function post(verb, after = () => {}) {
    return () => busily(async () => {
      onJob(await sendJson("POST", `v1/jobs/${id}/${verb}`));
      after();
    });
  }

  async function remove() {
    const isAgreed = await confirmed(`Delete “${title}”?`, "This also deletes its audio and all its files.", "Delete");
    if (!isAgreed) return;
    await busily(async () => {
      await request("DELETE", `v1/jobs/${id}`);
      onDeleted();
    });
  }

  const busily = (action) => attempt(() => whileBusy(element, action), onTrouble);

  async function changePriority() {
    onJob(await sendJson("PATCH", `v1/jobs/${id}`, { priority: choice.value }));
  }

  return {
    element,
    show(job) {
      const { state, request: asked } = job;
      title = jobTitle(job);
      keepingFocus(element, () => {
        setHidden(resume, state !== "paused");
        setHidden(pause, !["pending", "running"].includes(state));
        setHidden(cancel, isOver(state) || state === "cancelling");
        setHidden(priority, isOver(state) || state === "cancelling");
        setHidden(again, !["failed", "cancelled", "expired"].includes(state));
        setHidden(drop, !isOver(state));
      });
      // Not after every refresh: the user may be choosing.
      if (known === asked.priority) return;
      known = asked.priority;
      choice.value = known;
    },
  };
}
