// The fleet: workers, queues, live streams and their history.

import { getJson } from "../api.js";
import { alerts, h, keyed, replace, setHidden, setText } from "../dom.js";
import { repeat } from "../repeating.js";
import { showProblem } from "../jobs/compose/fields.js";
import { count, decimal, span } from "../wording.js";
import { givenUp } from "./given_up.js";
import { fleetHistory } from "./history.js";
import { queueCard } from "./queue.js";
import { COLUMNS, workerRow } from "./workers.js";

const LOOK_S = 2;

export function openFleet(main) {
  const heading = h("h1", { tabindex: "-1" }, "Fleet");
  const trouble = alerts();
  const refusal = alerts();
  const tiles = {
    pace: tile("Throughput", "seconds of speech per second"),
    fill: tile("Batch fill", "share of engine slots in use"),
    backlog: tile("Backlog", "speech still to make"),
    jobs: tile("Unfinished", "accepted narrations"),
    leases: tile("In progress", "items that workers process"),
    live: tile("Live streams", "open now"),
  };
  const queues = h("div", { class: "queues" });
  const workers = h("tbody");
  const nobody = h("p", { class: "notice bad", role: "status", hidden: true }, "No worker has reported in the last minute. New narrations wait until one starts.");
  const unswept = h("p", { class: "notice bad", role: "status", hidden: true }, "No janitor runs. Start it: without it, the work of a lost worker is not repeated.");
  const held = h("p", { class: "notice bad", role: "status", hidden: true });
  const dead = givenUp();
  const past = fleetHistory();
  const showQueues = keyed(queues, queueCard);
  const showWorkers = keyed(workers, () => workerRow((problem) => showProblem(refusal, problem)));
  const table = h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Table of workers" },
    h("table", {}, h("caption", { class: "visually-hidden" }, "Workers"), h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))), workers));
  const figures = h("section", { class: "tiles", "aria-label": "Figures" }, Object.values(tiles).map((each) => each.element));
  const crew = h("section", { class: "stack", "aria-labelledby": "workers-title", hidden: true }, h("h2", { id: "workers-title" }, "Workers"), refusal, table);
  const body = h("div", { class: "fleet" }, held, nobody, unswept, figures,
    h("section", { class: "stack", "aria-labelledby": "queues-title" }, h("h2", { id: "queues-title" }, "Queues"), queues),
    crew, dead.element, past.element);
  // Below the queues, whose height is unknown until they come.
  past.element.hidden = true;
  main.append(h("div", { class: "fleet-page" }, heading, trouble, body));
  const refresher = repeat(refresh, () => LOOK_S);

  async function refresh(signal) {
    try {
      const [waiting, working] = await Promise.all([getJson("v1/admin/queues", { signal }), getJson("v1/admin/workers", { signal })]);
      showTotals(waiting.totals);
      const { totals } = waiting;
      showQueues(waiting.data.map((queue) => [queue.name, { queue, workers: working.data, totals }]));
      showWorkers(working.data.map((worker) => [worker.name, worker]));
      setHidden(nobody, working.data.length > 0);
      setHidden(unswept, !working.data.length || working.data.some(({ role, state }) => role === "janitor" && state !== "unresponsive"));
      setHidden(crew, working.data.length === 0);
      setHidden(past.element, false);
      if (waiting.totals.dead_letters || !dead.element.hidden) await dead.read(signal);
      replace(trouble);
      setHidden(body, false);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      setHidden(body, error.status === 403);
      showProblem(trouble, error.status === 403 ? { message: "Only a key with the scope admin can see the fleet." } : error);
      throw error;
    }
  }

  function showTotals(totals) {
    setHidden(held, !totals.claims_held);
    setText(held, totals.claims_held ? `Workers claim nothing: ${totals.claims_held}.` : "");
    // Some engines count a passage when it is spoken, and nothing before.
    const isUnknown = totals.leases > 0 && !totals.audio_s_per_s;
    tiles.pace.show(isUnknown ? null : totals.audio_s_per_s, decimal);
    tiles.fill.show(isUnknown ? null : totals.batch_fill, (value) => `${Math.round(value * 100)} %`);
    tiles.backlog.show(totals.backlog_audio_s, span, totals.drain_s === null ? "speech to make; time left unknown" : `speech to make in about ${span(totals.drain_s)}`);
    tiles.jobs.show(totals.unfinished_jobs, count, totals.scheduled_jobs ? `${count(totals.scheduled_jobs)} of them scheduled` : "accepted narrations");
    tiles.leases.show(totals.leases, count);
    tiles.live.show(totals.live_streams, count, totals.live_slots ? `open, of at most ${count(totals.live_slots)}` : "no worker serves live streams");
  }

  return {
    go(_, { isFirst }) {
      document.title = "Fleet · Rhapsode";
      if (!isFirst) heading.focus();
    },
    close() {
      refresher.stop();
      past.close();
    },
  };
}

function tile(name, unit) {
  const value = h("dd", { class: "tile-value" }, "–");
  const about = h("dd", { class: "tile-unit" }, unit);
  const element = h("dl", { class: "tile" }, h("dt", {}, name), value, about);
  return {
    element,
    /** `figure`: null if unknown. `says`: the text below it. */
    show(figure, wording, says = unit) {
      setText(about, says);
      setText(value, figure === null ? "–" : wording(figure));
    },
  };
}
