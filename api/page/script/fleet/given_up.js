// Failed items that an operator can retry or dismiss.

import { attempt, getJson, request, sendJson } from "../api.js";
import { confirmed } from "../dialog.js";
import { alerts, button, h, keepingFocus, keyed, replace, setHidden, setText, whileBusy } from "../dom.js";
import { showProblem } from "../jobs/compose/fields.js";
import { ago, counted, jobTitle } from "../wording.js";

const MOST = 50;
const CODES = {
  worker_lost: "The worker died in every attempt",
  segment_quality: "No attempt passed the quality checks",
  deadline_exceeded: "The deadline passed",
  internal: "Internal error",
};

export function givenUp() {
  const summary = h("p", { class: "hint" });
  const trouble = alerts();
  const list = h("ul", { class: "given-up" });
  const showRows = keyed(list, () => entryRow({ onRetry: retry, onDrop: drop }));
  const title = h("h2", { id: "given-up-title", tabindex: "-1" }, "Failed items");
  const element = h("section", { class: "stack", "aria-labelledby": "given-up-title", hidden: true }, title, summary, trouble, list);
  let entries = [];

  function show() {
    // Stays once shown, so that the place of a pressed button does not disappear.
    if (entries.length) setHidden(element, false);
    keepingFocus(element, () => showRows(entries.map((entry) => [entry.id, entry])));
  }

  /** The narration continues with its finished passages. The entry goes. */
  async function retry(entry) {
    await busily(async () => {
      await sendJson("POST", `v1/jobs/${entry.job}/retry`);
      await forget(entry);
    }, entry);
  }

  async function drop(entry) {
    const isAgreed = await confirmed("Remove this entry?", "The narration stays as it is.", "Remove it");
    if (isAgreed) await busily(() => forget(entry), entry);
  }

  async function forget({ id }) {
    await request("DELETE", `v1/admin/dlq/${encodeURIComponent(id)}`);
    entries = entries.filter((entry) => entry.id !== id);
    tell(false);
    show();
  }

  function tell(hasMore) {
    if (hasMore) setText(summary, `The newest ${MOST}. \`rhapsode dlq list\` shows all.`);
    else setText(summary, entries.length ? `${counted(entries.length, "entry", "entries")}, newest first.` : "No entries are left.");
  }

  function busily(action, { tenant }) {
    replace(trouble);
    return attempt(async () => {
      await whileBusy(list, action);
      if (document.activeElement === document.body) title.focus({ preventScroll: true });
    }, (error) => showProblem(trouble, error.status === 404 ? { message: `Only a key of ${tenant} can retry it, if it still exists.` } : error));
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

/** The narration's title. The end of its id if it is gone or belongs to another tenant. */
async function titleOf(id) {
  if (!titles.has(id)) titles.set(id, attempt(async () => jobTitle(await getJson(`v1/jobs/${id}`)), () => `Narration ${id.slice(-6)}`));
  return titles.get(id);
}

function entryRow({ onRetry, onDrop }) {
  const reason = h("p", { class: "given-up-reason" });
  const detail = h("p", { dir: "auto" });
  const link = h("a");
  const facts = h("span");
  const again = button("Retry", () => onRetry(entry));
  const away = button("Remove", () => onDrop(entry), { kind: "quiet danger" });
  let entry = null;
  return {
    element: h("li", {}, h("div", {}, reason, detail, h("p", { class: "hint" }, link, facts)), h("div", { class: "row" }, again, away)),
    show(next) {
      entry = next;
      setText(reason, CODES[next.code] ?? next.code.replaceAll("_", " "));
      setText(detail, next.detail);
      link.href = `#/jobs/${next.job}`;
      titleOf(next.job).then((title) => setText(link, title));
      setText(facts, ` · tenant ${next.tenant} · ${placeOf(next.item)} · failed after ${counted(next.attempts, "attempt")} · ${ago(next.at)}`);
    },
  };
}

/** An item is a passage, by its number, or another step of the narration. */
const placeOf = (item) => (/^\d+$/.test(item) ? `passage ${Number(item) + 1}` : `step ${item}`);
