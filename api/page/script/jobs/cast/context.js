// The words around a line, from the plan's passages.

import { lastStarted } from "../waveform/layout.js";

const MOST_AROUND = 220;
const MOST_SAID = 400;
const CLOSING = /["”»“’']/;

/** `(line) => [before, said, after]`, with a beginning of long lines. */
export function contextIn(segments) {
  return ({ start, end, text }) => {
    const at = lastStarted(start, segments.length, (index) => segments[index].start);
    const earlier = written(segments.slice(Math.max(0, at - 2), at));
    const whole = `${earlier}${written(segments.slice(at, at + 4))}`;
    const from = nearest(whole, text, earlier.length + start - segments[at].start);
    if (from < 0) return ["", text, ""];
    const to = endOf(whole, from, text, end - start);
    const said = whole.slice(from, to);
    return [
      shortened(whole.slice(Math.max(0, from - MOST_AROUND), from), /^\S*\s/, from > MOST_AROUND),
      said.length > MOST_SAID ? `${said.slice(0, MOST_SAID)} …` : said,
      shortened(whole.slice(to, to + MOST_AROUND), /\s\S*$/, whole.length > to + MOST_AROUND),
    ];
  };
}

/** Where `part` stands in `whole`, of several places the one that is nearest to `wanted`; -1 for nowhere. */
function nearest(whole, part, wanted) {
  let best = -1;
  for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + 1)) {
    if (best < 0 || Math.abs(at - wanted) < Math.abs(best - wanted)) best = at;
  }
  return best;
}

/** The end of a line that is `chars` long in the text, which may have blanks that its passage has not. */
function endOf(whole, from, text, chars) {
  const least = from + text.length;
  for (let at = Math.min(from + chars, whole.length); at > least; at -= 1) {
    if (CLOSING.test(whole[at - 1])) return at;
  }
  return least;
}

function written(passages) {
  return passages.map(({ source, text }) => `${source ?? text} `).join("");
}

function shortened(text, cut, isCut) {
  return isCut ? text.replace(cut, " … ") : text;
}
