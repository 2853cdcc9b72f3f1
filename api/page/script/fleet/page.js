// The fleet: who works, how full the batches are, how fast it goes, and what waits.

import { getJson } from "../api.js";
import { h, replace, setHidden, setText } from "../dom.js";
import { repeat } from "../repeating.js";
import { showProblem } from "../jobs/fields.js";
import { count, decimal, span } from "../wording.js";
import { history } from "./history.js";
import { queueCard } from "./queue.js";
import { workerRows } from "./workers.js";

const LOOK_S = 2;

export function openFleet(main) {
  const heading = h("h1", { tabindex: "-1" }, "Fleet");
  const trouble = h("div", { class: "notices", role: "alert" });
  const tiles = {
    pace: tile("Speech made", "seconds of speech in a second", history()),
    fill: tile("Batch fill", "of the slots that could be busy", history(1)),
    backlog: tile("Backlog", "of speech waits", history()),
    jobs: tile("Narrations under way", "accepted and not over"),
    leases: tile("In work", "passages and plans held by workers"),
  };
  const queues = h("div", { class: "queues" });
  const workers = h("tbody");
  const nobody = h("p", { class: "blank", hidden: true }, "No worker has said that it is there. What is submitted waits.");
  const columns = ["Worker", "State", "Model", "Slots in use", "Batch fill", "Speech a second", "Step", "Voices kept", "Last heard"];
  const table = h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Table of workers" },
    h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))), workers));
  main.append(h("div", { class: "fleet-page" }, heading, trouble,
    h("section", { class: "tiles", "aria-label": "Figures" }, Object.values(tiles).map((each) => each.element)),
    h("section", { class: "stack", "aria-labelledby": "queues-title" }, h("h2", { id: "queues-title" }, "Queues"), queues),
    h("section", { class: "stack", "aria-labelledby": "workers-title" }, h("h2", { id: "workers-title" }, "Workers"),
      table, nobody)));
  const refresher = repeat(refresh, () => LOOK_S);

  async function refresh(signal) {
    try {
      const [waiting, working] = await Promise.all([getJson("v1/admin/queues", { signal }), getJson("v1/admin/workers", { signal })]);
      showTotals(waiting.totals);
      replace(queues, waiting.data.map(queueCard));
      replace(workers, workerRows(working.data));
      setHidden(nobody, working.data.length > 0);
      setHidden(table, working.data.length === 0);
      replace(trouble);
    } catch (error) {
      if (error.name !== "Problem") throw error;
      showProblem(trouble, error.status === 403 ? { message: "Only an operator's key may look at the fleet." } : error);
      throw error;
    }
  }

  function showTotals(totals) {
    tiles.pace.show(totals.audio_s_per_s, decimal);
    tiles.fill.show(totals.batch_fill, (value) => `${Math.round(value * 100)} %`);
    tiles.backlog.show(totals.backlog_audio_s, span);
    tiles.jobs.show(totals.unfinished_jobs, count);
    tiles.leases.show(totals.leases, count);
  }

  return {
    go(_, { isFirst }) {
      document.title = "Fleet · Rhapsode";
      if (!isFirst) heading.focus();
    },
    close: () => refresher.stop(),
  };
}

function tile(name, unit, line = null) {
  const value = h("dd", { class: "tile-value" }, "–");
  const element = h("dl", { class: "tile" }, h("dt", {}, name), value, h("dd", { class: "tile-unit" }, unit), line ? h("dd", {}, line.element) : null);
  return {
    element,
    /** null: not known. */
    show(figure, wording) {
      setText(value, figure === null ? "–" : wording(figure));
      line?.add(figure ?? 0);
    },
  };
}
