// More about a narration: its code, links to its files, its history. Each is loaded on demand.

import { button, h, setHidden } from "../../dom.js";
import { isOver } from "../../wording.js";

export const FOR_MACHINES = /\.(json|safetensors)$/;

export function beside(id, segments) {
  let job = null;
  const share = button("Share", async () => (await import("./share.js")).shareFile(id, filesOf(job)), { kind: "quiet", hidden: true });
  const code = button("As code", async () => (await import("./code.js")).showCode(job, segments), { kind: "quiet", hidden: true });
  const history = button("History", async () => (await import("./history.js")).showHistory(id, segments), { kind: "quiet" });
  return {
    element: h("div", { class: "row beside" }, share, code, history),
    show(next) {
      job = next;
      setHidden(code, next.kind !== "synthesis");
      // A link ends when its file is made again.
      setHidden(share, !isOver(next.state) || !filesOf(next).length);
    },
  };
}

const filesOf = ({ artifacts }) => artifacts.map(({ name }) => name).filter((name) => !FOR_MACHINES.test(name));
