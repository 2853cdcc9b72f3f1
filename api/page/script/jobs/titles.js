// The title of a new narration that was given none.

const MOST_CHARS = 60;

/** A file's name, or the text's first line: its first sentence, or as many of its words as a title may have. */
export function titleOf(file, text) {
  if (file) return file.name.replace(/\.[^.]+$/, "").slice(0, 200);
  const line = text.trim().split(/\n/, 1)[0].replace(/^#+\s*/, "");
  const [sentence] = line.split(/(?<=[.!?…])\s/, 1);
  const letters = [...sentence];
  return letters.length <= MOST_CHARS ? sentence : `${letters.slice(0, MOST_CHARS).join("").replace(/\s+\S*$/, "")} …`;
}
