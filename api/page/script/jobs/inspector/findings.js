// Findings of the quality checks, in plain words.

const WORDS = {
  not_finite: "it has no valid samples",
  silent: "it is silent",
  unfinished: "it was cut off at the maximum length",
  wrong_words: "its words differ from the text",
  unheard: "the recogniser did not understand it",
  missing_word: "a word is missing or differs",
  too_short: "shorter than its text",
  early_end: "it ends before its text",
  too_fast: "faster than the rest",
  too_long: "longer than its text",
  too_slow: "slower than the rest",
  repeated_frames: "a sound repeats itself",
  long_pause: "a long pause",
  hole: "it has a gap",
  other_voice: "it does not sound like its voice",
  wrong_pitch: "higher or lower than its voice",
  noise: "a noise that is not speech",
  cut_end: "its end is cut off",
  long_edge: "long silence before or after it",
  click: "it clicks",
  background: "noise in its pauses",
  level_change: "its level changes inside",
  clipped: "overdriven",
  level: "too quiet or too loud",
  uneven_level: "much louder or quieter than the rest",
  silenced: "silence replaces it",
};

export const findingWords = (name) => WORDS[name] ?? name.replaceAll("_", " ");
