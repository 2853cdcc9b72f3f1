// What can be done with a job in its state.

import { request, sendJson } from "../api.js";
import { confirmed } from "../dialog.js";
import { button, h, replace, whileBusy } from "../dom.js";
import { isOver } from "../wording.js";

const PRIORITIES = { high: "High", normal: "Normal", low: "Low" };

export function jobActions(id, { onJob, onReopened, onDeleted, onTrouble }) {
  const element = h("div", { class: "row" });
  let shown = "";

  function post(verb, after = () => {}) {
    return () => attempt(async () => {
      onJob(await sendJson("POST", `v1/jobs/${id}/${verb}`));
      after();
    });
  }

  async function remove() {
    const isAgreed = await confirmed("Delete this narration?", "Its audio and everything else it made will be gone.", "Delete");
    if (!isAgreed) return;
    await attempt(async () => {
      await request("DELETE", `v1/jobs/${id}`);
      onDeleted();
    });
  }

  async function attempt(action) {
    try {
      await whileBusy(element, action);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      onTrouble(error);
    }
  }

  function priority(current) {
    const field = h("select", { id: "job-priority", on: { change: () => attempt(change) } },
      Object.entries(PRIORITIES).map(([name, label]) => h("option", { value: name, selected: name === current }, label)));
    const change = async () => onJob(await sendJson("PATCH", `v1/jobs/${id}`, { priority: field.value }));
    return h("span", { class: "inline-field" }, h("label", { for: "job-priority" }, "Priority"), field);
  }

  return {
    element,
    show({ state, request: asked }) {
      const text = JSON.stringify([state, asked.priority]);
      if (text === shown) return;
      shown = text;
      const found = [];
      if (["pending", "running"].includes(state)) found.push(button("Pause", post("pause")));
      if (state === "paused") found.push(button("Resume", post("resume", onReopened), { kind: "primary" }));
      if (!isOver(state) && state !== "cancelling") found.push(button("Cancel", post("cancel"), { kind: "danger" }), priority(asked.priority));
      if (["failed", "cancelled", "expired"].includes(state)) found.push(button("Try again", post("retry", onReopened), { kind: "primary" }));
      if (isOver(state)) found.push(button("Delete", remove, { kind: "quiet danger" }));
      replace(element, found);
    },
  };
}
