// The keyboard shortcuts.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

const KEYS = [
  ["Tab", "next control; a text and a list are one control each"],
  ["↑ ↓", "in the list: previous or next narration"],
  ["← → ↑ ↓", "in a text: previous or next passage"],
  ["Enter, Space", "in a text: details of the passage, to play it or speak it again"],
  ["Enter, Esc", "while a sentence is changed: has it spoken so, leaves it as it was"],
  ["Ctrl or ⌘ and Z", "takes the last change of a passage back; with Shift: makes it again"],
  ["Space", "elsewhere: play or pause, like the media keys"],
  ["← →", "on the player's time line: 5 seconds back or forward"],
  ["Page ↑, Page ↓", "on the time line: previous or next passage"],
  ["Esc", "close a passage or dialog; stop live speech"],
  ["Ctrl or ⌘ and Enter", "while writing: narrate or speak"],
];

export function showKeys() {
  openDialog("Keyboard shortcuts", h("dl", { class: "keys" },
    KEYS.map(([keys, effect]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, effect)))));
}
