// Numbers, times and states as text.

const LOCALE = "en";
const MOST_TITLE_CHARS = 60;
const number = new Intl.NumberFormat(LOCALE);
const oneDigit = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });

export const count = (value) => number.format(value);
export const decimal = (value) => oneDigit.format(value);
export const percent = (fraction) => `${Math.floor(fraction * 100)} %`;

/** What a request calls a voice: built-in ones have no id. */
export const voiceId = ({ id, name }) => id ?? name;

/** Descriptions of uploaded voices may be long. */
export const voiceLabel = ({ kind, name, description }) => (kind === "built_in" && description ? `${name}, ${description}` : name);

/** "331 segments", "1 segment". */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** A duration: "0.8 s", "12 s", "3 min 20 s", "1 h 15 min". */
export function span(seconds) {
  if (seconds < 10) return `${oneDigit.format(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  return joined(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

/** A position in a recording: "0:07", "1:02:33". */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor((whole % 3600) / 60), whole % 60];
  if (whole >= 3600) parts.unshift(Math.floor(whole / 3600));
  return parts.map((part, place) => (place ? String(part).padStart(2, "0") : String(part))).join(":");
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let left = value;
  for (; left >= 1000 && unit < units.length - 1; unit += 1) left /= 1000;
  return `${left < 10 && unit ? oneDigit.format(left) : number.format(Math.round(left))} ${units[unit]}`;
}

export function ago(moment, now = Date.now()) {
  const seconds = Math.round((new Date(moment).getTime() - now) / 1000);
  const size = Math.abs(seconds);
  if (size < 45) return "just now";
  if (size < 3600) return relative.format(Math.round(seconds / 60), "minute");
  if (size < 86400) return relative.format(Math.round(seconds / 3600), "hour");
  return relative.format(Math.round(seconds / 86400), "day");
}

export const dayClock = (value) => new Date(value).toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const moment = (value) => exact.format(new Date(value));

const STATES = {
  pending: "Waiting",
  running: "Running",
  paused: "Paused",
  cancelling: "Stopping",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
  expired: "Expired",
};
const PHASES = { planning: "Reading the text", synthesizing: "Speaking", assembling: "Assembling" };

export const beginsLater = ({ state, request }) => state === "pending" && Boolean(request.not_before) && new Date(request.not_before) > new Date();

export const doing = (job) => (beginsLater(job) && "Scheduled") || (job.state === "running" && PHASES[job.phase]) || STATES[job.state] || job.state;

export const isOver = (state) => ["succeeded", "failed", "cancelled", "expired"].includes(state);

/** A job's title, or a name made from its request. */
export function jobTitle(job) {
  if (job.kind === "voice_cache") return `Preparing ${counted(job.request.voices, "voice")}`;
  const { metadata, request } = job;
  if (metadata.preview_of) return `Preview of ${job.request.voice}`;
  const begins = request.input.first_words;
  return metadata.title || metadata.book || metadata.name || request.output.tags.title || (begins && titleOf(null, begins)) || `Narration ${job.id.slice(-6)}`;
}

/** The end of a sentence. No full stop after a short word with a capital is one: it may be "Mrs." or an initial. */
const SENTENCE_END = /(?<=[!?…]|(?<!(?<![\p{L}.])\p{Lu}[\p{L}.]{0,3})\.)\s(?![\p{Ll}\p{N}])/u;

/** The title of a new narration without one: the file's name, or the first sentence of the text, cut to length. */
export function titleOf(file, text) {
  if (file) return file.name.replace(/\.[^.]+$/, "").slice(0, 200);
  const line = text.trim().split(/\n/, 1)[0].replace(/^#+\s*/, "");
  const [sentence] = line.split(SENTENCE_END, 1);
  const letters = [...sentence];
  return letters.length <= MOST_TITLE_CHARS ? sentence : `${letters.slice(0, MOST_TITLE_CHARS).join("").replace(/\s+\S*$/, "")} …`;
}

/** The server's sentence with its segments, counted from 0, as the passages that the page counts from 1. */
export function inPassages(sentence) {
  return capitalised(sentence.replace(/\bsegment (\d+)\b/gi, (_, index) => `passage ${count(Number(index) + 1)}`));
}

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function joined(large, largeUnit, small, smallUnit) {
  return small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

/** Seconds of a narration: its longest file with pauses, or its speech while there is no file. */
export const lengthS = ({ artifacts, progress }) => Math.max(progress.audio_s_done || 0, ...artifacts.map((file) => file.duration_s || 0));
