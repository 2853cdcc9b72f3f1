// The same narration as code: for a shell with curl, for Python, and for the command line.

import { key } from "../../api.js";
import { openDialog } from "../../dialog.js";
import { announce, button, h } from "../../dom.js";
import { finder } from "../inspector/spelling.js";
import { FLAGS, LEVELLED, USUAL } from "./usual.js";

const SERVER = new URL("../../../../../", import.meta.url).href.replace(/\/$/, "");
const MOST_CHARS = 20_000;
/** Stands for the reference of a dictionary that the code makes. */
const WORDS = "$words";

export function showCode(job, segments) {
  const order = orderOf(job, segments);
  openDialog("As code", h("div", { class: "stack code" },
    h("p", { class: "hint" }, `The same narration, ordered by a program. ${order.note}`),
    block("curl", curl(order)), block("Python", python(order)), block("Command line", commandLine(order))));
}

function block(title, code) {
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(code);
    announce(`${title}: copied`);
  }, { kind: "quiet", "aria-label": `Copy: ${title}` });
  // Browsers allow the clipboard on https only. Otherwise the user selects the text.
  return h("section", {}, h("div", { class: "head" }, h("h3", {}, title), navigator.clipboard ? copy : null), h("pre", { tabindex: "0" }, code));
}

/** The request without its default values. */
function orderOf({ request, metadata }, segments) {
  const isText = request.input.type === "text";
  const items = segments.items.filter((item) => item?.written);
  const text = isText ? textOf(items, request.pauses.paragraph_s) : "";
  const isWhole = isText && text !== "" && text.length <= MOST_CHARS;
  const isCast = isWhole && items.some(({ speaker, edited }) => speaker || edited);
  const options = { model: request.model, voice: request.own_voice?.id ?? request.voice, seed: request.seed, normalization: request.normalization };
  Object.assign(options, askedFor(request, USUAL));
  const speakers = Object.entries(request.speakers).filter(([name, voice]) => !isCast || name !== voice);
  if (speakers.length) options.speakers = Object.fromEntries(speakers);
  options.output = outputOf(request.output);
  if (Object.keys(metadata).length) options.metadata = metadata;
  const rules = isCast ? sharedRules(items) : [];
  if (rules.length) options.pronunciation_dictionaries = [WORDS, ...(options.pronunciation_dictionaries ?? [])];
  const said = isWhole ? text : request.input.first_words || "Your text.";
  return { text: said, input: isCast ? { segments: items.map((item) => passage(item, request, rules)) } : { text: said }, options, isCast, rules,
    note: isCast ? `Each passage has its own voice and words.${items.at(-1).chapter ? " Its chapters are left out." : ""}${rules.length ? " A dictionary says how words are said." : ""}`
      : isWhole ? "" : "A sample text replaces yours, which this page does not have.",
    types: options.output.preset ? [] : [...new Set(request.output.formats.map(({ type }) => type))] };
}

/** A voice given to single passages is a speaker with the voice's name. */
const isVoice = ({ speaker, voice }) => speaker === voice;

const isSame = (rule) => (other) => JSON.stringify(other) === JSON.stringify(rule);

/** How words are said, where all passages with the word say it so. */
function sharedRules(items) {
  const rules = items.flatMap(({ pronunciations }) => pronunciations);
  return rules.filter((rule, place) => rules.findIndex(isSame(rule)) === place
    && items.every(({ written, pronunciations }) => written.search(finder(rule.grapheme)) < 0 || pronunciations.some(isSame(rule))));
}

/** As it is spoken now, with other words and another voice than at first. Words that only some passages say so are respelt. */
function passage(item, request, rules) {
  const { written, text, pronunciations, speaker, voice, pause_after_s } = item;
  const isWritten = pronunciations.every((rule) => rules.some(isSame(rule)));
  const own = Object.fromEntries(["language", "instructions"].filter((name) => item[name] !== request[name]).map((name) => [name, item[name]]));
  return { text: isWritten ? written : text, ...(speaker && (isVoice(item) ? { voice } : { speaker })), ...own, pause_after_s };
}

function outputOf(output) {
  const { formats: _, ...found } = askedFor(output, USUAL.output);
  return { formats: output.formats.map((format) => Object.fromEntries(Object.entries(format).filter(([name, value]) => value !== null && !(name === "files" && value === "whole")))), ...found };
}

/** Values that differ from the defaults, by name. */
function askedFor(values, usual) {
  const names = Object.keys(usual).filter((name) => JSON.stringify(values[name]) !== JSON.stringify(usual[name]));
  return Object.fromEntries(names.map((name) => [name, isPart(usual[name]) ? askedFor(values[name], usual[name]) : values[name]]));
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Names chosen by callers, such as tags, have no defaults. */
const isPart = (usual) => isObject(usual) && Object.keys(usual).length > 0;

/** The text as written. A paragraph ends at a paragraph pause. */
function textOf(items, paragraphS) {
  return items.map((item, place) => item.written + (place + 1 === items.length ? "" : item.pause_after_s >= paragraphS ? "\n\n" : " ")).join("");
}

const NAME = "Words of a narration";

function curl({ input, options, rules }) {
  const bearer = key.get() ? " \\\n  -H \"Authorization: Bearer $RHAPSODE_API_KEY\"" : "";
  const post = (path, body) => `curl ${SERVER}/v1/${path}${bearer} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`;
  // No text has these quotation marks: JSON escapes them.
  const order = post("jobs", { input, ...options }).replace(/("pronunciation_dictionaries": \[\s*)"\$words"/, `$1"'"${WORDS}"'"`);
  const make = post("pronunciation-dictionaries", { name: NAME, rules });
  return rules.length ? `words=$(${make} | grep -o 'pd_[^"]*@1')\n${order}` : order;
}

function python({ input, options, rules }) {
  const given = Object.entries(options).map(([name, value]) => `        ${name}=${name === "pronunciation_dictionaries" ? literal(value).replace(`"${WORDS}"`, "words.versions[0].reference") : literal(value)},`).join("\n");
  const make = rules.length ? `    words = client.dictionaries.create(${literal(NAME)}, ${literal(rules)})\n` : "";
  const bearer = key.get() ? ', api_key=os.environ["RHAPSODE_API_KEY"]' : "";
  return `${bearer ? "import os\n\n" : ""}from rhapsode import Rhapsode

with Rhapsode(${literal(SERVER)}${bearer}) as client:
${make}    job = client.submit_job(
        ${literal(input.text ?? input)},
${given}
    )
    client.wait(job)
    for file in client.artifacts(job):
        client.download(job, file, file.name)
`;
}

/** A value of JSON as Python writes it. */
function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`).join(", ")}}`;
  return JSON.stringify(value);
}

function commandLine({ text, options, isCast, types: [type = "wav", ...others] }) {
  const { speakers = {}, metadata, output: { formats: _, loudness = null, ...output }, ...rest } = options;
  const flags = [["--server", SERVER], ...Object.entries(isCast ? {} : speakers).map((pair) => ["--speaker", pair.join("=")])];
  if (!loudness) flags.push(["--loudness", "none"]);
  else if (output.preset || JSON.stringify(loudness) !== JSON.stringify(LEVELLED)) output.loudness = loudness;
  // Callers choose these names, so they must not appear in a shell command.
  const left = [...(metadata ? ["metadata"] : []), ...(isCast ? ["the voices and edits of single passages"] : []), ...others.map((other) => `the ${other} file`)];
  for (const [path, value] of leaves({ ...rest, output })) {
    if (FLAGS[path] && value === false) flags.push([FLAGS[path].replace("--", "--no-")]);
    else if (FLAGS[path]) flags.push(...[value].flat().filter((each) => each !== WORDS).map((each) => (each === true ? [FLAGS[path]] : [FLAGS[path], each])));
    else if (FLAGS[`${path} ${value}`]) flags.push([FLAGS[`${path} ${value}`]]);
    else left.push(path);
  }
  const given = flags.map(([name, ...value]) => [name, ...value.map((each) => quoted(String(each)))].join(" ")).join(" ");
  let mark = "TEXT";
  while (text.split("\n").includes(mark)) mark += "_";
  const note = left.length ? `# Without ${left.join(", ")}.\n` : "";
  return `${note}rhapsode narrate - ${given} -o narration.${type} <<'${mark}'\n${text}\n${mark}`;
}

/** Every value that is no object, by its names: ["pauses.line_s", 0.2]. */
function leaves(part, within = "") {
  return Object.entries(part).flatMap(([name, value]) => (isObject(value) ? leaves(value, `${within}${name}.`) : [[`${within}${name}`, value]]));
}

const quoted = (value) => (/^[\w./:@-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`);
