// Files to narrate: accepted types, dropping and uploading.

import { Problem, sendJson } from "../../api.js";

const FORMATS = { txt: "txt", text: "txt", md: "md", markdown: "md", html: "html", htm: "html", xhtml: "html", epub: "epub", docx: "docx", pdf: "pdf" };

export const TYPES = Object.keys(FORMATS).map((suffix) => `.${suffix}`).join(",");

/** The document type by the file's name; null if it cannot be read. */
export function documentFormat(name) {
  return FORMATS[name.split(".").pop().toLowerCase()] ?? null;
}

export function dropZone(element, onFile) {
  element.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    element.classList.add("dropping");
  });
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(event.relatedTarget)) element.classList.remove("dropping");
  });
  element.addEventListener("drop", (event) => {
    element.classList.remove("dropping");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    onFile(event.dataTransfer.files[0]);
  });
}

/** Upload a file and return its id. Calls `onProgress(fraction)` meanwhile. Throws a `Problem`. */
export async function uploadDocument(file, onProgress) {
  if (!file.size) throw new Problem(0, { detail: `${file.name} is empty.` });
  const place = await sendJson("POST", "v1/uploads", { bytes: file.size });
  await put(place, file, onProgress);
  return place.id;
}

/** By XMLHttpRequest: fetch reports no upload progress. */
function put({ url, method, headers }, file, onProgress) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open(method, url);
    for (const [name, value] of Object.entries(headers)) {
      // The browser sets Content-Length itself and forbids scripts to.
      if (name.toLowerCase() !== "content-length") sending.setRequestHeader(name, value);
    }
    sending.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    sending.addEventListener("load", () => {
      if (sending.status < 300) resolve();
      else reject(new Problem(sending.status, { detail: `The upload failed: the store answered ${sending.status}.` }));
    });
    sending.addEventListener("error", () => reject(new Problem(0, { detail: "The connection was lost during the upload." })));
    sending.send(file);
  });
}
