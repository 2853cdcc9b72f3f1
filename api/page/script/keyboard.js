// The keyboard shortcuts.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

const KEYS = [
  ["Tab", "from one thing to the next; a whole text is one of them"],
  ["↑ ↓", "in the list, which is one thing, too: the narration above or below"],
  ["← → ↑ ↓", "in a text: the passage before or after"],
  ["Enter, Space", "in a text: how the passage was spoken, to hear it from there, to have it spoken again"],
  ["Enter, Esc", "while a sentence is changed: has it spoken so, leaves it as it was"],
  ["Ctrl or ⌘ and Z", "takes the last change of a passage back"],
  ["Space", "anywhere else: plays and pauses; media keys do the same"],
  ["← →", "on the player's line of time: five seconds back or ahead"],
  ["Page ↑, Page ↓", "there: the passage before or after"],
  ["Esc", "closes what was opened: a passage, this dialog; live, stops the speech"],
  ["Ctrl or ⌘ and Enter", "while writing: narrate, or speak"],
];

export function showKeys() {
  openDialog("Keyboard shortcuts", h("dl", { class: "keys" },
    KEYS.map(([keys, effect]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, effect)))));
}
