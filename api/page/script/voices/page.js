// All voices with the state of their caches, and the form for a new one.

import { attempt, getJson, pages, request, sendJson } from "../api.js";
import { alerts, button, h, replace, setHidden, setText } from "../dom.js";
import { showProblem } from "../jobs/compose/fields.js";
import { repeat } from "../repeating.js";
import { counted, voiceId } from "../wording.js";
import { voiceForm } from "./add.js";
import { preparation } from "./preparing.js";
import { stopSample } from "./sample.js";
import { voiceCard } from "./card.js";

const PAGE = 60;
const BUSY_S = 1.5;
const IDLE_S = 15;
const MOVING = ["pending", "processing"];

export function openVoices(main) {
  const cards = new Map();
  let caches = new Map();
  const grid = h("ul", { class: "voice-grid", "aria-label": "Voices" });
  const trouble = alerts();
  const tell = (error) => showProblem(trouble, error);
  const summary = h("p", { class: "summary" }, " ");
  const more = button("Show more", older, { kind: "quiet wide", hidden: true });
  const prepareChosen = button("Prepare these", () => prepare({ voices: chosenIds() }), { hidden: true });
  const prepareAll = button("Prepare all", () => prepare({ filter: {} }), { hidden: true });
  const progress = preparation(() => refresher.now());
  const heading = h("h1", { tabindex: "-1" }, "Voices");
  const form = voiceForm(added);
  const list = h("section", { class: "voices-main" },
    h("div", { class: "voices-head" }, h("div", {}, heading, summary), h("div", { class: "row" }, prepareChosen, prepareAll)),
    progress.element, trouble, grid, more);
  main.append(h("div", { class: "voices-page" }, list, form.element));

  let cursor = null;
  let known = null;
  const refresher = repeat(refresh, () => (isBusy() ? BUSY_S : IDLE_S));

  const isBusy = () => [...caches.values()].flat().some((cache) => MOVING.includes(cache.state));

  async function refresh(signal) {
    try {
      if (!known) await readVoices(signal);
      await readCaches(signal);
      replace(trouble);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      tell(error);
      throw error;
    }
  }

  async function readVoices(signal) {
    const page = await getJson(`v1/voices?limit=${PAGE}`, { signal });
    known = page.data;
    setPage(page);
    replace(grid);
    cards.clear();
    page.data.forEach(take);
    summarise();
  }

  async function older() {
    await attempt(async () => {
      const page = await getJson(`v1/voices?limit=${PAGE}&cursor=${encodeURIComponent(cursor)}`);
      known.push(...page.data);
      setPage(page);
      page.data.forEach(take);
      summarise();
      refresher.now();
    }, tell);
  }

  function setPage(page) {
    cursor = page.has_more ? page.next_cursor : null;
    setHidden(more, cursor === null);
  }

  function take(voice) {
    const card = voiceCard(voice, { onChosen: choose, onDeleted: remove, onChanged: () => refresher.now() });
    cards.set(voiceId(voice), card);
    grid.append(card.element);
    if (voice.id) card.showCaches(caches.get(voice.id) ?? []);
  }

  /** Of all voices if they are few; else of those that may be changing. */
  async function readCaches(signal) {
    const found = new Map();
    for await (const page of pages("v1/voice-caches", { limit: 100 }, { signal })) {
      for (const cache of page) found.set(cache.voice, [...(found.get(cache.voice) ?? []), cache]);
      if (found.size > cards.size + 1000) break;
    }
    caches = found;
    for (const [id, card] of cards) card.showCaches(caches.get(id) ?? []);
    summarise();
  }

  function summarise() {
    const own = known.filter((voice) => voice.kind === "own");
    const ready = own.filter((voice) => (caches.get(voice.id) ?? []).some((cache) => cache.state === "ready"));
    const rest = cursor === null ? "" : ", and more";
    setText(summary, `${counted(known.length - own.length, "built-in voice")}, ${own.length} uploaded${rest}${own.length ? `; ${ready.length} ready to speak` : ""}`);
    setHidden(prepareAll, !own.length);
  }

  const chosenIds = () => [...cards.values()].filter((card) => card.isChosen()).map((card) => card.id);

  function choose() {
    const { length } = chosenIds();
    setHidden(prepareChosen, !length);
    if (length) setText(prepareChosen.querySelector("span"), `Prepare ${length} chosen`);
  }

  async function prepare(order) {
    await attempt(async () => progress.follow(await sendJson("POST", "v1/voice-caches", order)), tell);
  }

  function added(voice) {
    known.push(voice);
    take(voice);
    const { element } = cards.get(voice.id);
    const firstOwn = [...grid.children].find((child) => child.dataset.kind === "own" && child !== element);
    if (firstOwn) grid.insertBefore(element, firstOwn);
    element.querySelector("h2").focus();
    refresher.now();
  }

  async function remove(id) {
    await request("DELETE", `v1/voices/${id}`);
    cards.get(id).element.remove();
    cards.delete(id);
    known = known.filter((voice) => voice.id !== id);
    summarise();
    choose();
    heading.focus();
  }

  return {
    go(_, { isFirst }) {
      document.title = "Voices · Rhapsode";
      if (!isFirst) heading.focus();
    },
    close() {
      refresher.stop();
      stopSample();
      progress.close();
      form.close();
    },
  };
}
