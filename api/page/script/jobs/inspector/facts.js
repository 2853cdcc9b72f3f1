// The request and further facts of the job.

import { changes, h, replace } from "../../dom.js";
import { moment, span } from "../../wording.js";
import { formatWords } from "../compose/delivery.js";

export function jobFacts() {
  const list = h("dl", { class: "facts" });
  const element = h("details", {}, h("summary", {}, "Details"), list);
  const isNew = changes();

  return {
    element,
    show(job) {
      const found = job.kind === "voice_cache" ? commonFacts(job) : [...speechFacts(job), ...commonFacts(job)];
      if (!isNew(found)) return;
      replace(list, found.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value))));
    },
  };
}

function speechFacts({ request, usage }) {
  const found = [
    ["Voice", request.voice],
    ["Language", request.language],
    ["Random seed", request.reproducibility === "strict" ? `${request.seed}, strictly reproducible` : String(request.seed)],
    ["Checks of the speech", `${request.quality.gate}, at most ${request.quality.max_attempts} attempts`],
    ["Formats", request.output.formats.map(formatWords).join("; ")],
    ["Characters", String(usage.input_chars)],
  ];
  if (request.output.preset) found.push(["Publisher's preset", request.output.preset]);
  if (request.output.speed !== 1) found.push(["Speed", String(request.output.speed)]);
  if (request.instructions) found.push(["Instructions", request.instructions]);
  if (request.reuse === false) found.push(["Reuse", "off"]);
  if (usage.cached_audio_s) found.push(["Reused speech", span(usage.cached_audio_s)]);
  return found;
}

function commonFacts(job) {
  const found = [["Model", job.request.model], ["Priority", job.request.priority], ["Submitted", moment(job.created_at)]];
  if (job.started_at) found.push(["Begun", moment(job.started_at)]);
  if (job.finished_at) found.push(["Ended", moment(job.finished_at)]);
  if (job.expires_at) found.push(["Kept until", moment(job.expires_at)]);
  if (job.request.not_before) found.push(["Not before", moment(job.request.not_before)]);
  if (job.request.deadline) found.push(["Deadline", moment(job.request.deadline)]);
  if (job.engine.model_revision) found.push(["Model revision", job.engine.model_revision]);
  for (const [name, value] of Object.entries(job.metadata)) found.push([name, value]);
  found.push(["Id", job.id]);
  return found;
}
