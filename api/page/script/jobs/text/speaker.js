// Who says a passage.

/** "" for the narrator and for a voice without a name. A character with another voice than at first is `Anna (tom)`. */
export function characterOf({ speaker, voice }) {
  const behind = ` (${voice})`;
  if (speaker === voice) return "";
  return speaker.endsWith(behind) ? speaker.slice(0, -behind.length) : speaker;
}
