// All jobs, newest first. Scrolling loads more pages. Unfinished jobs are refreshed.

import { getJson } from "../api.js";
import { button, h, replace, setHidden, setText } from "../dom.js";
import { repeat } from "../repeating.js";
import { isOver } from "../wording.js";
import { bulkBar } from "./bulk.js";
import { row } from "./row.js";

/** As many as boot.js asks for. */
const NEWEST = 30;
const BUSY_S = 1.5;
const IDLE_S = 8;
const ACTIVE = ["pending", "running", "paused", "cancelling"];
const OLDER = "Show older narrations";
/** A search reads older jobs until it has found this many. */
const ENOUGH = 25;
const FILTERS = {
  all: { label: "All", states: [] },
  active: { label: "Under way", states: ACTIVE },
  succeeded: { label: "Done", states: ["succeeded"] },
  troubled: { label: "Failed or stopped", states: ["failed", "cancelled", "expired"] },
};

/** `onEmpty(isEmpty)`: whether there is no narration yet, once that is known. */
export function jobList(onEmpty) {
  const rows = new Map();
  const jobs = new Map();
  const list = h("ul", { class: "job-list", "aria-label": "Narrations", on: { keydown, focusin, change: () => bulk.show() } });
  const empty = h("p", { class: "blank", hidden: true });
  const more = button(OLDER, () => older(), { kind: "quiet wide", hidden: true });
  const choice = h("select", { id: "job-filter", on: { change: restart } },
    Object.entries(FILTERS).map(([name, { label }]) => h("option", { value: name }, label)));
  const search = h("input", { id: "job-search", type: "search", placeholder: "Search titles", autocomplete: "off", on: { input: sift } });
  const choosing = button("Select narrations", () => setChoosing(true), { kind: "quiet" });
  const bulk = bulkBar({
    chosen: () => [...rows].filter(([, { box }]) => box.checked).map(([id]) => jobs.get(id)),
    onDone: (id, isGone) => {
      if (isGone) remove(id);
      refresher.now();
    },
    onEnd: () => setChoosing(false),
  });
  const element = h("section", { class: "jobs-side", "aria-labelledby": "jobs-title" },
    h("div", { class: "side-head" },
      h("h2", { id: "jobs-title" }, "Narrations"),
      h("label", { class: "visually-hidden", for: "job-filter" }, "Which narrations"), choice),
    h("a", { class: "new-job", href: "#/" }, "New narration"),
    h("div", { class: "side-tools" }, h("label", { class: "visually-hidden", for: "job-search" }, "Search narrations"), search, choosing),
    bulk.element,
    h("div", { class: "job-scroll" }, list, empty, more));

  let queue = new URLSearchParams(location.hash.split("?")[1]).get("queue");
  if (queue) choice.value = "active";
  const ofQueue = h("p", { class: "notice", hidden: queue === null }, `Only narrations of the queue ${queue}. `, button("Show all", showAll, { kind: "quiet" }));
  element.querySelector(".side-tools").after(ofQueue);
  let cursor = null;
  let openId = null;
  let reachable = null;
  let generation = 0;
  let isReading = false;

  const sight = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && older(),
    { rootMargin: "600px" });
  sight.observe(more);
  const refresher = repeat(refresh, () => (isBusy() ? BUSY_S : IDLE_S));

  function isBusy() {
    return [...jobs.values()].some((job) => !isOver(job.state) && job.state !== "paused");
  }

  function query(limit, extra = {}) {
    const parameters = new URLSearchParams({ limit, ...extra });
    for (const state of FILTERS[choice.value].states) parameters.append("state", state);
    if (queue) parameters.set("queue", queue);
    return `v1/jobs?${parameters}`;
  }

  async function refresh(signal) {
    const mine = generation;
    const isFirst = cursor === null && !jobs.size;
    const early = window.newest;
    delete window.newest;
    const page = (await early) ?? (await getJson(query(NEWEST), { signal }));
    if (mine !== generation) return;
    if (isFirst) setCursor(page);
    if (choice.value === "all" && !queue) onEmpty(!page.data.length);
    forgetMissing(page);
    for (const job of page.data) take(job);
    const known = new Set(page.data.map((job) => job.id));
    await refreshOlder([...jobs.values()].filter((job) => !isOver(job.state) && !known.has(job.id)), signal);
    if (mine === generation) arrange();
  }

  /** Unfinished jobs below the newest page, in one request if they are many. */
  async function refreshOlder(moving, signal) {
    if (!moving.length) return;
    const states = ACTIVE.map((state) => `state=${state}`).join("&");
    const { data } = await getJson(`v1/jobs?limit=100&${states}`, { signal });
    const fresh = new Map(data.map((job) => [job.id, job]));
    for (const job of moving.slice(0, 100)) {
      if (fresh.has(job.id)) take(fresh.get(job.id));
      else if (moving.length <= 100 && data.length < 100) await refreshOne(job.id, signal);
    }
  }

  async function refreshOne(id, signal) {
    try {
      take(await getJson(`v1/jobs/${id}`, { signal }));
    } catch (error) {
      if (error.status !== 404 && error.status !== 410) throw error;
      remove(id);
    }
  }

  async function older() {
    if (cursor === null || isReading) return;
    isReading = true;
    const mine = generation;
    try {
      const page = await getJson(query(NEWEST, { cursor }));
      if (mine !== generation) return;
      setCursor(page);
      page.data.forEach(take);
      arrange();
      setText(more.firstChild, OLDER);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      // The button stays, for a retry.
      setText(more.firstChild, `${error.message} Try again`);
      return;
    } finally {
      isReading = false;
    }
    // An observer reports changes only. Observing again reports that the end is still visible.
    sight.unobserve(more);
    sight.observe(more);
  }

  function setCursor(page) {
    cursor = page.has_more ? page.next_cursor : null;
    setHidden(more, cursor === null);
  }

  /** Jobs that should be on the newest page but are not were deleted. */
  function forgetMissing(page) {
    const last = page.has_more ? page.data.at(-1)?.id : "";
    const there = new Set(page.data.map((job) => job.id));
    for (const id of [...jobs.keys()]) if (id > last && !there.has(id)) remove(id);
  }

  function take(job) {
    // The open job's view has newer data. List and view must agree.
    if (job.id === openId && jobs.has(job.id)) return;
    put(job);
  }

  function put(job) {
    jobs.set(job.id, job);
    if (!rows.has(job.id)) {
      rows.set(job.id, row(job.id));
      rows.get(job.id).box.tabIndex = list.dataset.choosing ? 0 : -1;
    }
    const { show, setOpen } = rows.get(job.id);
    show(job);
    setOpen(job.id === openId);
  }

  function setChoosing(isOn) {
    if (isOn) list.dataset.choosing = "yes";
    else delete list.dataset.choosing;
    for (const { box } of rows.values()) {
      box.tabIndex = isOn ? 0 : -1;
      if (!isOn) box.checked = false;
    }
    setHidden(choosing, isOn);
    bulk.setOpen(isOn);
    if (!isOn) choosing.focus();
  }

  /** Shows only matching jobs. Reads older ones while few match. */
  function sift() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const known of rows.values()) {
      const isMeant = known.has(words);
      setHidden(known.element, !isMeant);
      found += isMeant;
    }
    setHidden(empty, found > 0);
    setText(empty, words.length ? "No narration matches your search." : emptyWords());
    if (words.length && found < ENOUGH) older();
  }

  const emptyWords = () => (choice.value === "all" && !queue ? "No narrations yet." : "No such narrations.");

  function remove(id) {
    rows.get(id)?.element.remove();
    rows.delete(id);
    jobs.delete(id);
  }

  /** Ids grow with time, so they order the list. */
  function arrange() {
    const order = [...rows.keys()].sort().reverse();
    order.forEach((id, place) => {
      const { element: wanted } = rows.get(id);
      if (list.children[place] !== wanted) list.insertBefore(wanted, list.children[place] ?? null);
    });
    reach(rows.has(reachable) ? reachable : (rows.has(openId) ? openId : order[0]));
    sift();
  }

  /** The list is one stop of the Tab key. Arrow keys move within it. */
  function reach(id) {
    if (id === undefined) return;
    if (reachable !== id && rows.has(reachable)) rows.get(reachable).link.tabIndex = -1;
    reachable = id;
    rows.get(id).link.tabIndex = 0;
  }

  function showAll() {
    queue = null;
    setHidden(ofQueue, true);
    restart();
  }

  function restart() {
    generation += 1;
    cursor = null;
    rows.clear();
    jobs.clear();
    replace(list);
    setHidden(more, true);
    refresher.now();
  }

  function keydown(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    const links = [...list.querySelectorAll("li:not([hidden]) a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0 || !(event.key in moves)) return;
    event.preventDefault();
    links[at + moves[event.key]]?.focus();
  }

  function focusin({ target }) {
    const found = [...rows].find(([, { link }]) => link === target);
    if (found) reach(found[0]);
  }

  return {
    element,
    setOpen(id) {
      rows.get(openId)?.setOpen(false);
      openId = id;
      rows.get(id)?.setOpen(true);
      if (rows.has(id)) reach(id);
    },
    forget(id) {
      remove(id);
      sift();
    },
    show(job) {
      onEmpty(false);
      put(job);
      arrange();
    },
    close() {
      generation += 1;
      refresher.stop();
      sight.disconnect();
    },
  };
}
