// The files of a job, whole and by chapters. Links are valid for 15 minutes. A later use renews them.

import { attempt, getJson, pages } from "../../api.js";
import { button, h, icon, keyed, replace, setHidden, setText } from "../../dom.js";
import { bytes, counted, isOver, moment, span } from "../../wording.js";
import { FOR_MACHINES } from "../beside/menu.js";
import { formatWords } from "../compose/delivery.js";

const SPARE_MS = 10_000;
const A_PAGE = 500;
const MOST_OPEN = 30;
const LATER = "when all is spoken";
const LISTING = /^chapters-[a-z0-9]+\.json$/;

export function downloads(id, { onJob, onTrouble }) {
  const list = h("ul", { class: "files" });
  const other = button("Other formats", choose, { kind: "quiet", hidden: true });
  let shown = null;
  const old = h("p", { class: "hint", role: "status" });
  const kept = h("p", { class: "hint" });
  const names = h("span", { class: "file-facts" });
  const machines = h("ul");
  const details = h("li", {}, h("details", {}, h("summary", {}, "For programs", names), machines));
  const element = h("section", { class: "downloads", "aria-label": "Files", hidden: true }, h("div", { class: "head" }, h("h2", {}, "Files"), other), old, kept, list);
  const showFiles = keyed(list, (key) => (LISTING.test(key) ? chapterFiles(id, { onUse: renew, onTrouble }) : fileRow(renew)));
  const showMachines = keyed(machines, () => fileRow(renew));

  function choose() {
    return attempt(async () => (await import("../compose/formats.js")).chooseFormats(shown, onJob), onTrouble);
  }

  async function renew(event, artifact) {
    if (new Date(artifact.url_expires_at).getTime() - SPARE_MS > Date.now()) return;
    event.preventDefault();
    await attempt(async () => {
      const isListed = artifact.chapter !== null;
      const files = isListed ? await chapterArtifacts(id, artifact.type) : (await getJson(`v1/jobs/${id}/artifacts`)).data;
      const fresh = files.find((each) => each.name === artifact.name);
      if (fresh) h("a", { href: fresh.url, download: fresh.name }).click();
    }, onTrouble);
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
      setText(old, files.length && job.state !== "succeeded" ? "These files were made before your latest request." : "");
      setText(kept, job.expires_at && files.length ? `Kept until ${moment(job.expires_at)}. Download them before.` : "");
      setHidden(kept, !kept.textContent);
      setHidden(other, job.state !== "succeeded");
      setHidden(element, list.children.length === 0);
    },
  };
}

/** Placeholders for coming files, so that the page does not jump. */
const awaited = ({ formats }) => formats.map((format) => ({ name: awaitedName(format), url: null }));

const awaitedName = (format) => (format.files === "chapters" ? formatWords(format) : `narration.${format.type}`);

/** The chapter files of a format, loaded on demand: a book may have a thousand. `show(listing)`: of an artifact of type `chapters`. */
function chapterFiles(id, { onUse, onTrouble }) {
  const name = h("span", { class: "file-name" });
  const facts = h("span", { class: "file-facts" });
  const list = h("ul");
  const details = h("details", { on: { toggle: () => details.open && read() } }, h("summary", {}, name, facts), list);
  const showFiles = keyed(list, () => fileRow(onUse));
  let listing = null;
  let shown = null;

  async function read() {
    const wanted = listing;
    if (wanted.sha256 === shown) return;
    await attempt(async () => {
      const files = await chapterArtifacts(id, formOf(wanted));
      if (wanted !== listing) return;
      showFiles(files.map((artifact) => [artifact.name, artifact]));
      shown = wanted.sha256;
    }, onTrouble);
  }

  return {
    element: h("li", {}, details),
    show(next) {
      const isNew = next.sha256 !== listing?.sha256;
      listing = next;
      setText(name, `${formOf(next).toUpperCase()}, a file for each chapter`);
      setText(facts, `${counted(next.files, "file")} · ${bytes(next.files_bytes)}`);
      if (!isNew) return;
      replace(list);
      if (!details.open) details.open = next.files <= MOST_OPEN;
      else read();
    },
  };
}

const formOf = ({ name }) => name.replace(/^chapters-|\.json$/g, "");

/** All files of a format, with valid links. */
async function chapterArtifacts(id, form) {
  const found = [];
  for await (const page of pages(`v1/jobs/${id}/artifacts`, { limit: A_PAGE })) found.push(...page);
  return found.filter(({ chapter, type }) => chapter !== null && type === form);
}

/** `onUse(event, artifact)`: the link was used. */
function fileRow(onUse) {
  let artifact = null;
  const name = h("span", { class: "file-name", dir: "auto" });
  const facts = h("span", { class: "file-facts" });
  const link = h("a", { on: { click: (event) => artifact.url && onUse(event, artifact) } }, icon("download"), name, facts);
  return {
    element: h("li", {}, link),
    show(next) {
      artifact = next;
      setText(name, next.name);
      setText(facts, next.url ? factsOf(next) : LATER);
      link.classList.toggle("awaited", !next.url);
      if (!next.url) return;
      link.href = next.url;
      link.download = next.name;
    },
  };
}

function factsOf({ duration_s: duration, bytes: size }) {
  return duration === null ? bytes(size) : `${span(duration)} · ${bytes(size)}`;
}
