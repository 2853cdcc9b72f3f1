// The files of a job. Their links hold for a quarter of an hour, and are renewed when one is used later.

import { getJson } from "../api.js";
import { h, icon, replace, setHidden } from "../dom.js";
import { bytes, span } from "../wording.js";

const SPARE_MS = 10_000;

export function downloads(id) {
  const list = h("ul", { class: "files" });
  const element = h("section", { class: "downloads", "aria-label": "Files", hidden: true }, h("h2", {}, "Files"), list);
  let shown = "";

  function file(artifact) {
    const facts = [artifact.duration_s === null ? null : span(artifact.duration_s), bytes(artifact.bytes)].filter(Boolean);
    const link = h("a", { href: artifact.url, download: artifact.name, on: { click: (event) => renew(event, artifact) } },
      icon("download"), h("span", { class: "file-name", dir: "auto" }, artifact.name), h("span", { class: "file-facts" }, facts.join(" · ")));
    return h("li", {}, link);
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
    show({ artifacts }) {
      const text = JSON.stringify(artifacts);
      if (text === shown) return;
      shown = text;
      setHidden(element, artifacts.length === 0);
      replace(list, artifacts.map(file));
    },
  };
}
