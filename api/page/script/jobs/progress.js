// A job's progress: one large number and facts.

import { changes, h, replace } from "../dom.js";
import { beginsLater, count, counted, isOver, lengthS, moment, percent, span } from "../wording.js";

const NOBODY = "No worker has its model: it continues when one is ready.";

export function jobProgress() {
  const figure = h("p", { class: "figure" });
  const fill = h("span", { class: "row-fill" });
  const bar = h("div", { class: "bar", role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  const facts = h("dl", { class: "figures" });
  const element = h("section", { class: "progress", "aria-label": "Progress" }, h("h2", { class: "visually-hidden" }, "Progress"), figure, bar, facts);
  const isNew = changes();

  return {
    element,
    show(job) {
      if (!isNew([job.state, job.progress, job.queue])) return;
      const { fraction } = job.progress;
      replace(figure, ...headline(job));
      bar.setAttribute("aria-valuenow", Math.floor(fraction * 100));
      fill.style.setProperty("--fraction", fraction);
      fill.dataset.state = job.state;
      bar.classList.toggle("over", isOver(job.state));
      replace(facts, figures(job).flatMap(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    },
  };
}

function headline(job) {
  const { state, progress, queue } = job;
  if (beginsLater(job)) return [`Begins on ${moment(job.request.not_before)}`];
  if (state === "succeeded") return [h("strong", {}, span(lengthS(job))), "long"];
  if (state === "pending") return [waiting(queue)];
  return [h("strong", {}, percent(progress.fraction)), still(state, queue) || (progress.eta_s === null ? "" : `about ${span(progress.eta_s)} left`)];
}

function waiting(queue) {
  if (!queue || queue.position === null) return "Waiting for its turn";
  if (!queue.has_worker) return NOBODY;
  return queue.position ? `${counted(queue.position, "narration")} before it` : "Next in line";
}

const still = (state, queue) => (state === "running" && queue && !queue.has_worker ? NOBODY : "");

/** Facts of every job first, rare ones after them. */
function figures({ kind, progress, usage, queue, state }) {
  const { segments } = progress;
  const isSpeech = kind === "synthesis";
  const found = [[isSpeech ? "Passages" : "Voices", segments.total ? `${count(segments.done)} of ${count(segments.total)}` : "not known yet"]];
  if (isSpeech && state !== "succeeded") found.push(["Speech so far", span(progress.audio_s_done)]);
  if (!isOver(state)) found.push(["Being spoken", count(segments.running)], ["Speed of speaking", queue?.pace ? `${queue.pace.toFixed(1)} × real time` : "–"]);
  if (segments.reused) found.push(["From earlier narrations", count(segments.reused)]);
  if (segments.failed) found.push(["Failed", count(segments.failed)]);
  if (segments.flagged) found.push(["Flagged", count(segments.flagged)]);
  if (usage.retries) found.push(["Spoken again", count(usage.retries)]);
  return found;
}
