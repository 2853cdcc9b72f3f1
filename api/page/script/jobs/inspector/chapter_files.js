// The chapter files of a format, loaded on demand: a book may have a thousand.

import { pages } from "../../api.js";
import { h, replace, setText } from "../../dom.js";
import { keyed } from "../../keyed.js";
import { bytes, counted } from "../../wording.js";
import { fileRow } from "./file_row.js";

const A_PAGE = 500;
const MOST_OPEN = 30;

/** A row of the list of files; `show(listing)` of an artifact of type `chapters`. */
export function chapterFiles(id, { onUse, onTrouble }) {
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
    try {
      const files = await chapterArtifacts(id, formOf(wanted));
      if (wanted !== listing) return;
      showFiles(files.map((artifact) => [artifact.name, artifact]));
      shown = wanted.sha256;
    } catch (error) {
      if (error.name !== "Problem") throw error;
      onTrouble(error);
    }
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
export async function chapterArtifacts(id, form) {
  const found = [];
  for await (const page of pages(`v1/jobs/${id}/artifacts`, { limit: A_PAGE })) found.push(...page);
  return found.filter(({ chapter, type }) => chapter !== null && type === form);
}
