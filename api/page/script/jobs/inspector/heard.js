// Which take of each passage this browser played last, and the passages that have another take since.

import { button, changes, h, replace, setHidden, setText } from "../../dom.js";
import { count, counted, titleOf } from "../../wording.js";

const KEPT = "rhapsode.heard.";
const MOST_JOBS = 50;
const MOST_SHOWN = 40;

/** Takes by passage: the first one where none is given. null if this browser never played the job. */
const takesHeard = (jobId) => JSON.parse(localStorage.getItem(KEPT + jobId));

/** A passage plays. With the first one, the takes of all others count as known. */
export function noteHeard(jobId, { items, isRead }, index) {
  if (!isRead) return;
  const heard = takesHeard(jobId) ?? Object.fromEntries(items.filter(({ take }) => take > 1).map((item) => [item.index, item.take]));
  heard[index] = items[index].take;
  localStorage.setItem(KEPT + jobId, JSON.stringify(heard));
  // Ids grow with time.
  const jobs = Object.keys(localStorage).filter((name) => name.startsWith(KEPT)).sort();
  for (const name of jobs.slice(0, -MOST_JOBS)) localStorage.removeItem(name);
}

/** `onShow(index)`: show this passage. */
export function changedPassages(jobId, segments, onShow) {
  const summary = h("summary");
  const list = h("div", { class: "choices" });
  const element = h("details", { hidden: true }, summary, list);
  const isNew = changes();

  return {
    element,
    show() {
      const heard = takesHeard(jobId);
      const changed = heard ? segments.items.filter(({ index, state, take }) => state === "done" && take !== (heard[index] ?? 1)) : [];
      if (!isNew(changed.map(({ index, take }) => [index, take]))) return;
      setHidden(element, !changed.length);
      setText(summary, `${counted(changed.length, "passage")} changed since you listened`);
      replace(list, changed.slice(0, MOST_SHOWN).map(({ index, written }) =>
        button(`${count(index + 1)}: ${titleOf(null, written)}`, () => onShow(index), { dir: "auto" })),
      changed.length > MOST_SHOWN ? "…" : null);
    },
  };
}
