// One job in the list.

import { h, setHidden, setText } from "../dom.js";
import { ago, count, doing, isOver, jobTitle, lengthS, percent, span } from "../wording.js";

/** A row. `show(job)` changes only what differs. */
export function row(job) {
  const title = h("span", { class: "row-title", dir: "auto" });
  const state = h("span", { class: "state" });
  const facts = h("span", { class: "row-facts" });
  const fill = h("span", { class: "row-fill" });
  const line = h("span", { class: "row-line", "aria-hidden": "true" }, fill);
  const link = h("a", { href: `#/jobs/${job.id}`, tabindex: -1 }, title, state, facts, line);
  const box = h("input", { type: "checkbox", class: "row-choice", tabindex: -1 });
  const element = h("li", { class: "job-row" }, box, link);
  let shown = "";

  function show(next) {
    const minute = Math.floor(Date.now() / 60_000);
    const text = JSON.stringify([next.state, next.phase, next.progress, next.metadata, minute]);
    if (text === shown) return;
    shown = text;
    setText(title, jobTitle(next));
    box.setAttribute("aria-label", `Select ${jobTitle(next)}, ${new Date(next.created_at).toLocaleString("en")}`);
    setText(state, next.state === "running" ? percent(next.progress.fraction) : doing(next));
    state.dataset.state = next.state;
    setText(facts, factsOf(next));
    setHidden(line, isOver(next.state));
    fill.style.setProperty("--fraction", next.progress.fraction);
    fill.dataset.state = next.state;
  }

  show(job);
  return {
    element,
    link,
    box,
    show,
    /** Whether it contains these words, in lower case. */
    has: (words) => words.every((word) => `${title.textContent} ${facts.textContent} ${job.id}`.toLowerCase().includes(word)),
    setOpen: (isOpen) => (isOpen ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")),
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
