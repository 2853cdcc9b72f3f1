// A new narration: its text or file, its voice, and how it is delivered.

import { getJson, randomToken, sendJson } from "../../api.js";
import { alerts, button, field, h, laterStyles, replace, setHidden, setText, whileBusy } from "../../dom.js";
import { repeat } from "../../repeating.js";
import { bytes, counted, span, titleOf } from "../../wording.js";
import { deliveryFields } from "./delivery.js";
import { TYPES, documentFormat, dropZone, uploadDocument } from "./documents.js";
import { sampleButton, stopSample } from "../../voices/sample.js";
import { chosen, forgetDraft, keepVoice, keptName, keptValue, languageField, priorityFields, putKept, readDraft, readVoices, showProblem, voiceField, writeDraft } from "./fields.js";

const SERVED_S = 300;
const ALONE_S = 3;
const CHARS_PER_S = 14;
const MOST_PLANNING_REQUESTS = 20;

/** The file of a form that was left. */
let heldFile = null;

export function composer(onSubmitted) {
  const text = h("textarea", { id: "text", rows: 8, dir: "auto", placeholder: matchMedia("(hover: none)").matches ? "Write or paste a text." : "Write or paste a text, or drop a file here.", on: { input: onText, keydown } });
  const counter = h("span", { class: "counter" });
  const chip = h("div", { class: "chip", hidden: true });
  const picker = h("input", { type: "file", id: "document", hidden: true, accept: TYPES, on: { change: () => attach(picker.files[0]) } });
  const pick = button("Choose a file", () => picker.click(), { iconName: "file", kind: "quiet" });
  const title = h("input", { id: "title", type: "text", maxlength: 200, dir: "auto", placeholder: "From its first words" });
  const voice = voiceField();
  const sample = sampleButton("Hear the voice", () => ({ voice: voice.value() ?? undefined, language: language.value() }),
    (problem) => showProblem(trouble, problem), { kind: "quiet" });
  const language = languageField();
  const delivery = deliveryFields();
  const priority = priorityFields();
  const instructions = h("input", { id: "instructions", type: "text", maxlength: 2000, dir: "auto", placeholder: "Calm, slower" });
  const instructing = h("div", { class: "field", hidden: true }, h("label", { for: "instructions" }, "Speaking style"), instructions);
  const numbers = h("input", { type: "checkbox", id: "numbers", checked: true, on: { change: () => { asksNumbers = true; } } });
  let asksNumbers = false;
  const rare = h("div");
  const missing = h("p", { class: "notice warn", role: "status", hidden: true }, "No worker is ready yet. New narrations wait until one is.");
  const trouble = alerts();
  const estimate = h("p", { class: "estimate", role: "status" });
  const submit = h("button", { type: "submit", class: "primary large" }, "Narrate");
  const check = button("How long will it be?", plan, { kind: "quiet" });
  const cast = button("Find who speaks", findSpeakers);
  const zone = h("div", { class: "sheet" }, text, chip, h("div", { class: "sheet-foot" }, pick, picker, counter));
  const heading = h("h1", { tabindex: "-1" }, "New narration");
  const more = h("details", { class: "more-choices", on: { toggle: openMore } }, h("summary", {}, "More choices"),
    h("div", {},
      instructing,
      delivery.choices,
      priority,
      rare,
      h("div", { class: "checks" },
        h("label", { class: "check" }, numbers, "Read numbers, dates and money as words"),
        delivery.checks)));
  const element = h("form", { class: "compose", novalidate: true, on: { submit: narrate, input: noteChange, change: noteChange } },
    heading,
    h("label", { for: "text", class: "visually-hidden" }, "Text"),
    zone, missing, trouble,
    h("div", { class: "grid" }, h("div", { class: "with-sample" }, voice.element, sample), language.element),
    field("Title", title),
    delivery.formats,
    more, h("div", { class: "row end" }, check, cast, submit), estimate);

  let orders = null;
  let studio = null;
  let greeting = null;
  let file = null;
  let upload = null;
  let token = { body: "", value: "" };
  /** Values of a draft whose fields are not there yet. */
  let { fields: waiting, cast: decided, file: lost, isWhole } = readDraft();
  let isBegun = Object.keys(waiting).length > 0;
  addEventListener("pagehide", save);
  dropZone(zone, attach);
  let isServed = false;
  let isNewHere = false;
  const filler = repeat(fill, () => (isServed ? SERVED_S : ALONE_S));

  async function fill(signal) {
    try {
      const [models, abilities] = await Promise.all([getJson("v1/models", { signal }), getJson("v1/capabilities", { signal })]);
      const served = models.data.filter((model) => model.available);
      language.show(served);
      delivery.show(abilities);
      setHidden(instructing, !served.some((model) => model.accepts_instructions));
      voice.show(await readVoices(signal));
      await orders?.fill(signal, voice.builtIn());
      restore();
      isServed = served.length > 0;
      setHidden(missing, isServed);
      await greet();
    } catch (error) {
      // The page shows lost connections and missing keys elsewhere.
      if (error.name === "Problem" && error.status !== 0 && error.status !== 401) showProblem(trouble, error);
      throw error;
    }
  }

  /** Puts back what the draft has. */
  function restore(inputs = element.elements) {
    for (const input of inputs) {
      const name = keptName(input);
      if (name in waiting && putKept(input, waiting[name])) delete waiting[name];
    }
  }

  function noteChange({ target }) {
    delete waiting[keptName(target)];
    isBegun = true;
  }

  function save() {
    if (!isBegun) return;
    noteCast();
    const fields = Object.fromEntries([...element.elements].map((input) => [keptName(input), keptValue(input)]).filter(([name]) => name));
    writeDraft({ fields: { ...fields, ...waiting }, cast: decided, file: file?.name, isWhole: Boolean(orders) });
  }

  async function greet() {
    if (isNewHere && isServed) greeting ??= import("./welcome.js").then(greetingOf);
    (await greeting)?.show(isNewHere && isServed);
  }

  function greetingOf({ welcome }) {
    const made = welcome({ speakers: voice.builtIn, onText: narrateThis });
    zone.after(made.element);
    return made;
  }

  function narrateThis(words) {
    if (file) detach();
    text.value = words;
    onText();
    element.requestSubmit();
  }

  /** Rare fields are loaded when the user opens them. */
  async function openMore() {
    if (orders) return;
    orders = (await import("./orders.js")).orderFields();
    replace(rare, orders.element);
    filler.now();
  }

  function onText() {
    const length = [...text.value.trim()].length;
    setText(counter, length ? `${counted(length, "character")} · about ${span(length / CHARS_PER_S)} of speech` : "");
    setText(estimate, "");
  }

  function keydown(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  }

  function attach(next) {
    picker.value = "";
    if (!next) return;
    replace(trouble);
    setText(estimate, "");
    if (!documentFormat(next.name)) {
      showProblem(trouble, { message: `${next.name} cannot be read. Use text, Markdown, HTML, EPUB, DOCX or PDF.` });
      return;
    }
    [file, upload, isBegun] = [next, null, true];
    replace(chip, h("span", { class: "chip-name", dir: "auto" }, next.name), h("span", { class: "chip-facts" }, bytes(next.size)),
      button("Remove the file", detach, { iconName: "close", kind: "quiet icon-only" }));
    setHidden(chip, false);
    setHidden(text, true);
    delivery.prefer(documentFormat(next.name) === "epub" ? "m4b" : null);
  }

  function detach() {
    [file, upload] = [null, null];
    setHidden(chip, true);
    setHidden(text, false);
    text.focus();
  }

  async function input() {
    if (!file) return orders?.isSsml() ? { ssml: text.value, ssml_mode: "lenient" } : { text: text.value };
    upload ??= await uploadDocument(file, (fraction) => setText(submit, fraction < 1 ? `Sending the file, ${Math.floor(fraction * 100)} %` : "Narrate"));
    return { document: { upload_id: upload, format: documentFormat(file.name) } };
  }

  async function body() {
    const order = { input: await input(), language: language.value(), priority: chosen(priority), output: delivery.value() };
    if (voice.value()) order.voice = voice.value();
    if (!numbers.checked) order.normalization = "off";
    else if (asksNumbers && language.value() !== "auto") order.normalization = "basic";
    if (!instructing.hidden && instructions.value.trim()) order.instructions = instructions.value.trim();
    const name = title.value.trim() || titleOf(file, text.value);
    if (name) order.metadata = { title: name };
    orders?.write(order);
    return order;
  }

  async function narrate(event) {
    event.preventDefault();
    await attempt(async () => {
      const order = element.dataset.casting === undefined ? await body() : withCast(await body());
      const job = await sendJson("POST", "v1/jobs", order, { headers: { "Idempotency-Key": tokenFor(order) } });
      clear(order.voice);
      onSubmitted(job);
    });
  }

  async function plan() {
    await attempt(async () => {
      setText(estimate, "Reading the text …");
      const { planOf } = await import("./planning.js");
      const found = await planOf(await body());
      setText(estimate, found.object === "job" ? "This takes a while. You will find it in the list." : planned(found));
    });
  }

  /** Decisions are kept. In another text they count for the lines that it has too. */
  async function findSpeakers() {
    await attempt(async () => {
      if (!["auto", "english"].includes(language.value().toLowerCase())) {
        setText(estimate, "Speakers are found in English texts only.");
        return;
      }
      const order = await body();
      const looked = JSON.stringify([order.input, order.voice]);
      if (studio?.looked !== looked) await openStudio(order, looked);
      if (!studio) return;
      setText(estimate, "");
      element.dataset.casting = "";
      scrollTo(0, 0);
    });
    if (element.dataset.casting !== undefined) studio.focus();
  }

  async function openStudio(order, looked) {
    closeStudio();
    setText(estimate, "Reading the text …");
    const [{ planOf }, { castStudio }] = await Promise.all([import("./planning.js"), import("../cast/studio.js"), laterStyles()]);
    const found = await planOf({ ...order, input: { ...order.input, find_speakers: true } }, MOST_PLANNING_REQUESTS);
    if (!found.cast?.lines.length) {
      setText(estimate, found.object === "job" ? "No worker has read the text yet. Try again later."
        : found.cast ? "This text has no quotations. The narrator reads all of it." : "This text is not in English. Speakers are found in English texts only.");
      return;
    }
    const made = castStudio(found, { narrator: order.voice ?? found.speakers[0].voice, decided, voices: voice.known(), language: language.value,
      onNarrate: () => element.requestSubmit(), onBack: leaveStudio });
    studio = { ...made, looked };
    element.append(made.element);
  }

  function withCast(order) {
    const { voice: narrator, speakers, lines } = studio.order();
    return { ...order, voice: narrator, speakers: { ...order.speakers, ...speakers }, input: { ...order.input, lines } };
  }

  /** The narrator of the cast is the voice of the narration. */
  function noteCast() {
    if (element.dataset.casting === undefined) return;
    decided = studio.decisions();
    voice.use(studio.narrator());
  }

  function leaveStudio() {
    noteCast();
    delete element.dataset.casting;
    cast.focus();
  }

  function closeStudio() {
    delete element.dataset.casting;
    studio?.close();
    studio = null;
  }

  async function attempt(action) {
    replace(trouble);
    studio?.tell(null);
    if (!file && !text.value.trim()) {
      showProblem(trouble, { message: "Write or paste a text first." });
      text.focus();
      return;
    }
    try {
      await whileBusy(element, action);
    } catch (error) {
      setText(estimate, "");
      if (error.name !== "Problem") throw error;
      if (element.dataset.casting === undefined) showProblem(trouble, error);
      else studio.tell(error);
    } finally {
      setText(submit, "Narrate");
    }
  }

  /** A request repeated after a lost answer makes one job. */
  function tokenFor(order) {
    const content = JSON.stringify(order);
    if (token.body !== content) token = { body: content, value: randomToken() };
    return token.value;
  }

  /** All as at first, but with the voice that was used last. */
  function clear(used) {
    token = { body: "", value: "" };
    closeStudio();
    if (used) keepVoice(used);
    [waiting, decided, orders, isBegun] = [{}, null, null, false];
    more.open = false;
    replace(rare);
    element.reset();
    for (const input of element.elements) input.dispatchEvent(new Event("change"));
    voice.use(used);
    if (file) detach();
    onText();
    forgetDraft();
  }

  restore([text, title]);
  // Rare fields have choices too.
  more.open = isWhole;
  onText();
  if (heldFile) attach(heldFile);
  else if (lost) setText(estimate, `The browser did not keep your file. Choose ${lost} again.`);

  return {
    element,
    /** Whether there is no narration yet. */
    setFirst(isFirst) {
      isNewHere = isFirst;
      greet();
    },
    focus: () => heading.focus(),
    close() {
      removeEventListener("pagehide", save);
      save();
      heldFile = file;
      isBegun = false;
      closeStudio();
      stopSample();
      filler.stop();
    },
  };
}

function planned({ num_segments: passages, estimated_audio_s: audioS, estimated_render_s: renderS }) {
  const made = renderS === null ? "" : `, made in about ${span(renderS)}`;
  return `${counted(passages, "passage")}, about ${span(audioS)} of speech${made}.`;
}
