// The narrations: the list beside one of them, or beside the form for a new one.

import { h, laterStyles, replace } from "../dom.js";
import { composer } from "./compose/compose.js";
import { jobList } from "./list.js";

export function openJobs(main) {
  const list = jobList((isEmpty) => form.setFirst(isEmpty));
  const pane = h("div", { class: "pane", "data-content": true, tabindex: "-1" });
  const form = composer(submitted);
  main.append(h("div", { class: "jobs-page" }, pane, list.element));
  const page = main.firstElementChild;
  let view = null;
  let turn = 0;

  function submitted(job) {
    list.show(job);
    location.hash = `#/jobs/${job.id}`;
  }

  /** Its scripts are many, and a new narration needs none of them. */
  async function openView(id) {
    const [{ jobView }] = await Promise.all([import("./view.js"), laterStyles()]);
    return jobView(id, list);
  }

  return {
    async go([id], { isFirst }) {
      turn += 1;
      const mine = turn;
      view?.close();
      view = null;
      list.setOpen(id ?? null);
      const made = id ? await openView(id) : null;
      // The user left this view while it loaded.
      if (mine !== turn) {
        made?.close();
        return;
      }
      view = made;
      page.dataset.pane = id ? "job" : "new";
      replace(pane, view ? view.element : form.element);
      document.title = id ? "Narration · Rhapsode" : "Rhapsode";
      if (isFirst) return;
      // The focus alone does not scroll to a title that is partly visible.
      scrollTo(0, 0);
      (view ?? form).focus();
    },
    close() {
      turn += 1;
      view?.close();
      form.close();
      list.close();
    },
  };
}
