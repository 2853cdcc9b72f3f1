// A job that prepares several voices, and its progress.

import { getJson } from "../api.js";
import { h, replace, setHidden } from "../dom.js";
import { repeat } from "../repeating.js";
import { count, doing, isOver } from "../wording.js";

const LOOK_S = 1;

export function preparation(onEnded) {
  const fill = h("span", { class: "row-fill" });
  const bar = h("div", { class: "bar", role: "progressbar", "aria-label": "Voices prepared", "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  const line = h("p", { class: "preparing-line", role: "status" });
  const element = h("div", { class: "preparing", hidden: true }, line, bar);
  let refresher = null;

  function show(job) {
    const { fraction, segments } = job.progress;
    fill.style.setProperty("--fraction", fraction);
    bar.setAttribute("aria-valuenow", Math.floor(fraction * 100));
    const failed = segments.failed ? `, ${count(segments.failed)} failed` : "";
    const words = `${doing(job)}: ${count(segments.done)} of ${count(segments.total || job.request.voices)} voices prepared${failed}. `;
    if (line.dataset.words === words) return;
    line.dataset.words = words;
    replace(line, words, h("a", { href: `#/jobs/${job.id}` }, "Details"));
  }

  function follow(job) {
    refresher?.stop();
    setHidden(element, false);
    show(job);
    refresher = repeat(async (signal) => {
      const now = await getJson(`v1/jobs/${job.id}`, { signal });
      show(now);
      if (!isOver(now.state)) return;
      refresher.stop();
      onEnded();
    }, () => LOOK_S);
  }

  return { element, follow, close: () => refresher?.stop() };
}
