// What was given up: passages that no worker could make, each to be tried once more or dropped.

import { getJson, request, sendJson } from "../api.js";
import { confirmed } from "../dialog.js";
import { button, h, keepingFocus, replace, setHidden, setText, whileBusy } from "../dom.js";
import { showProblem } from "../jobs/compose/fields.js";
import { keyed } from "../keyed.js";
import { ago, counted, jobTitle } from "../wording.js";

const MOST = 50;
const CODES = {
  worker_lost: "Its worker died each time",
  segment_quality: "It never passed the quality gate",
  deadline_exceeded: "Its deadline passed",
  internal: "An error of the system",
};

export function givenUp() {
  const summary = h("p", { class: "hint" });
  const trouble = h("div", { class: "notices", role: "alert" });
  const list = h("ul", { class: "given-up" });
  const showRows = keyed(list, () => entryRow({ onRetry: retry, onDrop: drop }));
  const title = h("h2", { id: "given-up-title", tabindex: "-1" }, "Given up");
  const element = h("section", { class: "stack", "aria-labelledby": "given-up-title", hidden: true }, title, summary, trouble, list);
  let entries = [];

  function show() {
    // Once it was there it stays while somebody looks: the place of a button that was just pressed does not vanish.
    if (entries.length) setHidden(element, false);
    keepingFocus(element, () => showRows(entries.map((entry) => [entry.id, entry])));
  }

  /** Its narration goes on from what is done; the entry has been seen to. */
  async function retry(entry) {
    await attempt(async () => {
      await sendJson("POST", `v1/jobs/${entry.job}/retry`);
      await forget(entry);
    }, entry);
  }

  async function drop(entry) {
    const isAgreed = await confirmed("Drop this entry?", "It leaves this list. The narration stays as it is.", "Drop it");
    if (isAgreed) await attempt(() => forget(entry), entry);
  }

  async function forget({ id }) {
    await request("DELETE", `v1/admin/dlq/${encodeURIComponent(id)}`);
    entries = entries.filter((entry) => entry.id !== id);
    tell(false);
    show();
  }

  function tell(hasMore) {
    if (hasMore) setText(summary, `The newest ${MOST}; \`rhapsode dlq list\` has them all.`);
    else setText(summary, entries.length ? `${counted(entries.length, "entry", "entries")}, the newest first.` : "Nothing is left here.");
  }

  async function attempt(action, { tenant }) {
    replace(trouble);
    try {
      await whileBusy(list, action);
      if (document.activeElement === document.body) title.focus({ preventScroll: true });
    } catch (error) {
      if (error.name !== "Problem") throw error;
      const isAnothers = error.status === 404;
      showProblem(trouble, isAnothers ? { message: `This is ${tenant}'s, or not there any more: only a key of ${tenant} can try it again.` } : error);
    }
  }

  return {
    element,
    async read(signal) {
      const { data, has_more: hasMore } = await getJson(`v1/admin/dlq?limit=${MOST}`, { signal });
      entries = data;
      tell(hasMore);
      show();
    },
  };
}

const titles = new Map();

/** What a narration is called; its id's end where it is another tenant's, or gone. */
async function titleOf(id) {
  if (!titles.has(id)) titles.set(id, getJson(`v1/jobs/${id}`).then(jobTitle, (error) => {
    if (error.name !== "Problem") throw error;
    return `Narration ${id.slice(-6)}`;
  }));
  return titles.get(id);
}

function entryRow({ onRetry, onDrop }) {
  const reason = h("p", { class: "given-up-reason" });
  const detail = h("p", { class: "given-up-detail", dir: "auto" });
  const link = h("a");
  const facts = h("span");
  const again = button("Try again", () => onRetry(entry));
  const away = button("Drop", () => onDrop(entry), { kind: "quiet danger" });
  let entry = null;
  return {
    element: h("li", {}, h("div", {}, reason, detail, h("p", { class: "hint" }, link, facts)), h("div", { class: "row" }, again, away)),
    show(next) {
      entry = next;
      setText(reason, CODES[next.code] ?? next.code.replaceAll("_", " "));
      setText(detail, next.detail);
      link.href = `#/jobs/${next.job}`;
      titleOf(next.job).then((title) => setText(link, title));
      setText(facts, ` of ${next.tenant}, ${placeOf(next.item)}, given up after ${counted(next.attempts, "run")} by a worker, ${ago(next.at)}`);
    },
  };
}

/** Items are passages, by their number, and the steps before and after them. */
const placeOf = (item) => (/^\d+$/.test(item) ? `passage ${Number(item) + 1}` : `step ${item}`);
