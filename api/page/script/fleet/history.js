// The last minutes of a figure, as a line.

import { h } from "../dom.js";

const MOST = 90;
const WIDTH = 180;
const HEIGHT = 36;
const SVG = "http://www.w3.org/2000/svg";

/** `ceiling`: the highest value there can be; without one the highest that was seen. */
export function history(ceiling = null) {
  const values = [];
  const svg = document.createElementNS(SVG, "svg");
  const area = document.createElementNS(SVG, "path");
  const line = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  area.setAttribute("class", "history-area");
  line.setAttribute("class", "history-line");
  svg.append(area, line);

  return {
    element: h("div", { class: "history", "aria-hidden": "true" }, svg),
    add(value) {
      values.push(value);
      if (values.length > MOST) values.shift();
      const highest = ceiling ?? Math.max(...values, 1e-9);
      const step = WIDTH / (MOST - 1);
      const from = WIDTH - (values.length - 1) * step;
      const points = values.map((each, place) => `${(from + place * step).toFixed(1)},${(HEIGHT - 2 - (each / highest) * (HEIGHT - 4)).toFixed(1)}`);
      line.setAttribute("d", `M${points.join("L")}`);
      area.setAttribute("d", `M${from},${HEIGHT}L${points.join("L")}L${WIDTH},${HEIGHT}Z`);
    },
  };
}
