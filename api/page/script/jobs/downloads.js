// The files of a job. Their links hold for a quarter of an hour, and are renewed when one is used later.

import { getJson } from "../api.js";
import { h, icon, replace, setHidden } from "../dom.js";
import { bytes, isOver, span } from "../wording.js";

const SPARE_MS = 10_000;
const FOR_MACHINES = /\.(json|safetensors)$/;

export function downloads(id) {
  const list = h("ul", { class: "files" });
  const element = h("section", { class: "downloads", "aria-label": "Files", hidden: true }, h("h2", {}, "Files"), list);
  let shown = "";

  function rows({ artifacts, state, request }) {
    if (artifacts.length) return rowsOf(artifacts);
    // Places for what is to come, so that nothing moves when it does.
    return isOver(state) ? [] : [...request.output.formats.map(({ type }) => awaited(`narration.${type}`)), awaited("For machines")];
  }

  function rowsOf(artifacts) {
    const forMachines = artifacts.filter(({ name }) => FOR_MACHINES.test(name));
    const others = artifacts.filter((artifact) => !forMachines.includes(artifact)).map((artifact) => h("li", {}, file(artifact)));
    if (!forMachines.length) return others;
    const names = h("summary", {}, "For machines", h("span", { class: "file-facts" }, forMachines.map(({ name }) => name).join(", ")));
    return [...others, h("li", {}, h("details", {}, names, forMachines.map(file)))];
  }

  function file(artifact) {
    const facts = [artifact.duration_s === null ? null : span(artifact.duration_s), bytes(artifact.bytes)].filter(Boolean);
    return h("a", { href: artifact.url, download: artifact.name, on: { click: (event) => renew(event, artifact) } },
      icon("download"), h("span", { class: "file-name", dir: "auto" }, artifact.name), h("span", { class: "file-facts" }, facts.join(" · ")));
  }

  async function renew(event, artifact) {
    if (new Date(artifact.url_expires_at).getTime() - SPARE_MS > Date.now()) return;
    event.preventDefault();
    const { data } = await getJson(`v1/jobs/${id}/artifacts`);
    const fresh = data.find((each) => each.name === artifact.name);
    if (fresh) location.assign(fresh.url);
  }

  return {
    element,
    show(job) {
      const makesFiles = job.kind === "synthesis" && !job.request.validate_only;
      const text = JSON.stringify([job.artifacts, isOver(job.state)]);
      if (text === shown || !makesFiles) return;
      shown = text;
      const found = rows(job);
      setHidden(element, found.length === 0);
      replace(list, found);
    },
  };
}

function awaited(name) {
  return h("li", { class: "awaited" }, h("span", { class: "file-name" }, name), h("span", { class: "file-facts" }, "when everything is spoken"));
}
