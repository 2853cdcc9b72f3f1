// One job in the list.

import { changes, h, setHidden, setText } from "../dom.js";
import { ago, count, doing, isOver, jobTitle, lengthS, percent, span } from "../wording.js";

/** A row. `show(job)` changes only what differs. */
export function row(id) {
  const title = h("span", { class: "row-title", dir: "auto" });
  const state = h("span", { class: "state" });
  const facts = h("span", { class: "row-facts" });
  const fill = h("span", { class: "row-fill" });
  const line = h("span", { class: "row-line", "aria-hidden": "true" }, fill);
  const link = h("a", { href: `#/jobs/${id}`, tabindex: -1 }, title, state, facts, line);
  const box = h("input", { type: "checkbox", class: "row-choice", tabindex: -1 });
  const element = h("li", { class: "job-row" }, box, link);
  const isNew = changes();

  function show(next) {
    const minute = Math.floor(Date.now() / 60_000);
    if (!isNew([next.state, next.phase, next.progress, next.metadata, minute])) return;
    setText(title, jobTitle(next));
    box.setAttribute("aria-label", `Select ${jobTitle(next)}, ${new Date(next.created_at).toLocaleString("en")}`);
    setText(state, next.state === "running" ? percent(next.progress.fraction) : doing(next));
    state.dataset.state = next.state;
    setText(facts, factsOf(next));
    setHidden(line, isOver(next.state));
    fill.style.setProperty("--fraction", next.progress.fraction);
    fill.dataset.state = next.state;
  }

  return {
    element,
    link,
    box,
    show,
    /** Whether it contains these words, in lower case. */
    has: (words) => words.every((word) => `${title.textContent} ${facts.textContent} ${id}`.toLowerCase().includes(word)),
    setOpen(isOpen) {
      link.ariaCurrent = isOpen ? "true" : null;
    },
  };
}

function factsOf(job) {
  const { progress, request } = job;
  const facts = [];
  if (job.kind === "synthesis") facts.push(request.voice);
  if (job.state === "running") facts.push(doing(job).toLowerCase());
  if (!isOver(job.state) && progress.eta_s !== null) facts.push(`${span(progress.eta_s)} left`);
  else if (progress.audio_s_done) facts.push(`${span(lengthS(job))} long`);
  if (job.state !== "running") facts.push(ago(job.created_at));
  if (progress.segments.flagged) facts.push(`${count(progress.segments.flagged)} flagged`);
  return facts.join(" · ");
}
