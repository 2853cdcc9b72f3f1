// Opens a part of the page by the address after the #.

import { key, signals } from "./api.js";
import { laterStyles, setHidden, setText } from "./dom.js";
import { openJobs } from "./jobs/page.js";

const SECTIONS = {
  jobs: { load: async () => openJobs },
  voices: { load: async () => (await styled(import("./voices/page.js"))).openVoices },
  live: { load: async () => (await styled(import("./live/page.js"))).openLive },
  fleet: { load: async () => (await styled(import("./fleet/page.js"))).openFleet },
};

const main = document.getElementById("main");
const keyButton = document.getElementById("key-button");
const offline = document.getElementById("offline");
let open = { name: null, view: null };

/** "#/jobs/job_1" -> ["jobs", "job_1"]; an unknown name leads to the jobs. */
function place() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return name in SECTIONS ? [name, ...rest] : ["jobs"];
}

async function styled(loading) {
  const [module] = await Promise.all([loading, laterStyles()]);
  return module;
}

async function navigate() {
  const [name, ...rest] = place();
  const isFirst = open.name === null;
  if (open.name !== name) {
    open.view?.close();
    open = { name, view: null };
    const show = await SECTIONS[name].load();
    if (open.name !== name) return;
    main.replaceChildren();
    open.view = show(main);
  }
  for (const link of document.querySelectorAll("[data-section]")) {
    link.ariaCurrent = link.dataset.section === name ? "page" : null;
  }
  await open.view.go(rest.map(decodeURIComponent), { isFirst });
}

/** Another key may belong to another tenant, so everything is loaded again. */
function reopen() {
  open.view?.close();
  open = { name: null, view: null };
  setHidden(keyButton, !key.get());
  navigate();
}

/** Shows a line at the top until the server answers. */
function tell(sentence) {
  setText(offline, sentence);
  setHidden(offline, false);
}

/** Skips the head and the list of narrations. */
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  (main.querySelector("[data-content]") ?? main).focus();
});
keyButton.addEventListener("click", async () => (await import("./key.js")).askForKey(reopen));
signals.addEventListener("unauthorized", async () => {
  setHidden(keyButton, false);
  tell("This server needs an API key.");
  (await import("./key.js")).demandKey(reopen);
});
document.getElementById("keyboard-button").addEventListener("click", async () => (await import("./keyboard.js")).showKeys());
for (const [source, type] of [[signals, "unreached"], [window, "offline"]]) {
  source.addEventListener(type, () => {
    tell("The server does not answer. Trying again …");
  });
}
signals.addEventListener("reached", () => setHidden(offline, true));
addEventListener("hashchange", navigate);
setHidden(keyButton, !key.get());
await navigate();
document.documentElement.dataset.ready = "yes";
sessionStorage.removeItem("rhapsode.reloads");
