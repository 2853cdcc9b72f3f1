// The files of a job. Links are valid for 15 minutes. A later use renews them.

import { getJson } from "../../api.js";
import { button, h, setHidden, setText } from "../../dom.js";
import { keyed } from "../../keyed.js";
import { isOver } from "../../wording.js";
import { formatWords } from "../compose/delivery.js";
import { chapterArtifacts, chapterFiles } from "./chapter_files.js";
import { LATER, fileRow } from "./file_row.js";

const SPARE_MS = 10_000;
const LISTING = /^chapters-[a-z0-9]+\.json$/;
const FOR_MACHINES = /\.(json|safetensors)$/;

export function downloads(id, { onJob, onTrouble }) {
  const list = h("ul", { class: "files" });
  const other = button("Other formats", choose, { kind: "quiet", hidden: true });
  let shown = null;
  const old = h("p", { class: "hint", role: "status" });
  const names = h("span", { class: "file-facts" });
  const machines = h("ul");
  const details = h("li", {}, h("details", {}, h("summary", {}, "For programs", names), machines));
  const element = h("section", { class: "downloads", "aria-label": "Files", hidden: true }, h("div", { class: "files-head" }, h("h2", {}, "Files"), other), old, list);
  const showFiles = keyed(list, (key) => (LISTING.test(key) ? chapterFiles(id, { onUse: renew, onTrouble }) : fileRow(renew)));
  const showMachines = keyed(machines, () => fileRow(renew));

  function choose() {
    return attempt(async () => (await import("../compose/formats.js")).chooseFormats(shown, onJob));
  }

  async function renew(event, artifact) {
    if (new Date(artifact.url_expires_at).getTime() - SPARE_MS > Date.now()) return;
    event.preventDefault();
    await attempt(async () => {
      const isListed = artifact.chapter !== null;
      const files = isListed ? await chapterArtifacts(id, artifact.type) : (await getJson(`v1/jobs/${id}/artifacts`)).data;
      const fresh = files.find((each) => each.name === artifact.name);
      if (fresh) location.assign(fresh.url);
    });
  }

  async function attempt(action) {
    try {
      await action();
    } catch (error) {
      if (error.name !== "Problem") throw error;
      onTrouble(error);
    }
  }

  return {
    element,
    show(job) {
      shown = job;
      if (job.kind !== "synthesis" || job.request.validate_only) return;
      const forMachines = job.artifacts.filter(({ name }) => FOR_MACHINES.test(name) && !LISTING.test(name));
      const files = job.artifacts.filter((artifact) => !forMachines.includes(artifact));
      const rows = files.length || isOver(job.state) ? files : awaited(job.request.output);
      showFiles(rows.map((artifact) => [artifact.name, artifact]));
      showMachines(forMachines.map((artifact) => [artifact.name, artifact]));
      setText(names, forMachines.length ? forMachines.map(({ name }) => name).join(", ") : LATER);
      if (details.parentNode !== list && (forMachines.length || !isOver(job.state))) list.append(details);
      else if (!forMachines.length && isOver(job.state)) details.remove();
      setText(old, files.length && job.state !== "succeeded" ? "These files do not have your latest changes yet." : "");
      setHidden(other, job.state !== "succeeded");
      setHidden(element, list.children.length === 0);
    },
  };
}

/** Placeholders for coming files, so that the page does not jump. */
const awaited = ({ formats }) => formats.map((format) => ({ name: awaitedName(format), url: null }));

const awaitedName = (format) => (format.files === "chapters" ? formatWords(format) : `narration.${format.type}`);
