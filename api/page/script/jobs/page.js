// The narrations: the list beside one of them, or beside the form for a new one.

import { h, replace } from "../dom.js";
import { composer } from "./compose/compose.js";
import { jobList } from "./list.js";
import { jobView } from "./view.js";

export function openJobs(main) {
  const list = jobList((isEmpty) => form.setFirst(isEmpty));
  const pane = h("div", { class: "pane", "data-content": true, tabindex: "-1" });
  const form = composer(submitted);
  main.append(h("div", { class: "jobs-page" }, list.element, pane));
  const page = main.firstElementChild;
  let view = null;

  function submitted(job) {
    list.show(job);
    location.hash = `#/jobs/${job.id}`;
  }

  return {
    go([id], { isFirst }) {
      view?.close();
      view = id ? jobView(id, list) : null;
      list.setOpen(id ?? null);
      page.dataset.pane = id ? "job" : "new";
      replace(pane, view ? view.element : form.element);
      document.title = id ? "Narration · Rhapsode" : "Rhapsode";
      if (isFirst) return;
      // The focus alone does not scroll to a title that is partly visible.
      scrollTo(0, 0);
      (view ?? form).focus();
    },
    close() {
      view?.close();
      form.close();
      list.close();
    },
  };
}
