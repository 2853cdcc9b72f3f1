// What the quality gate finds, in words for a listener.

const WORDS = {
  not_finite: "it was no sound at all",
  silent: "it is silent",
  unfinished: "it was broken off at its longest",
  wrong_words: "its words differ from the text",
  unheard: "nobody could read it back",
  missing_word: "a word is missing or differs",
  too_short: "shorter than its text",
  early_end: "it ends before its text",
  too_fast: "faster than the rest",
  too_long: "longer than its text",
  too_slow: "slower than the rest",
  repeated_frames: "a sound repeats itself",
  long_pause: "a long pause",
  hole: "its sound is gone for a moment",
  other_voice: "it does not sound like its voice",
  wrong_pitch: "higher or lower than its voice",
  noise: "a noise that is no speech",
  cut_end: "its end is cut off",
  long_edge: "long silence before or after it",
  click: "it clicks",
  background: "it is not quiet where nothing is said",
  level_change: "its level changes inside",
  clipped: "overdriven",
  level: "too quiet or too loud",
  uneven_level: "much louder or quieter than the rest",
  silenced: "silence stands in its place",
};

export const findingWords = (name) => WORDS[name] ?? name.replaceAll("_", " ");
