// Rarely used options: cast, pronunciation, SSML, start time, folder and webhook.

import { getJson } from "../../api.js";
import { field, h, replace, setHidden } from "../../dom.js";

const PREFIX = "The folders below the bucket's own";

export function orderFields() {
  const cast = h("textarea", { id: "cast", rows: 2, dir: "auto" });
  const dictionaries = h("select", { id: "dictionaries", multiple: true, size: 3 });
  const respelling = h("div", { class: "field", hidden: true }, h("label", { for: "dictionaries" }, "Pronunciation dictionaries"), dictionaries);
  const ssml = h("input", { type: "checkbox", id: "ssml" });
  const begins = h("input", { id: "not-before", type: "datetime-local" });
  const folder = h("input", { id: "destination", type: "text", maxlength: 200, placeholder: "books/42/", title: PREFIX });
  const receiver = h("input", { id: "webhook", type: "url", maxlength: 2048, placeholder: "An https address" });

  return {
    element: h("div", { class: "stack" },
      h("div", { class: "grid" },
        field("Cast: voices of lines that begin with a name", cast), respelling),
      h("div", { class: "grid" },
        field("Not before", begins),
        field("Folder in the service's bucket", folder),
        field("Webhook", receiver)),
      h("label", { class: "check" }, ssml, "The text is SSML. Unknown elements are read as text")),
    /** Loads the choices; the voices are for an example. Throws a `Problem`. */
    async fill(signal, [one, other = one]) {
      cast.placeholder = one ? `ANNA = ${one}\nROBIN = ${other}` : "";
      const { data } = await getJson("v1/pronunciation-dictionaries?limit=100", { signal });
      const kept = new Set([...dictionaries.selectedOptions].map(({ value }) => value));
      setHidden(respelling, !data.length);
      replace(dictionaries, data.map(({ id, name }) => h("option", { value: id, selected: kept.has(id) }, name)));
    },
    isSsml: () => ssml.checked,
    /** Adds the filled fields to a request. The server refuses invalid values. */
    write(order) {
      const speakers = Object.fromEntries(cast.value.split("\n").filter((line) => line.trim()).map((line) => {
        const [name, ...voice] = line.split("=");
        return [name.trim(), voice.join("=").trim()];
      }));
      if (Object.keys(speakers).length) order.speakers = speakers;
      const chosen = [...dictionaries.selectedOptions].map(({ value }) => value);
      if (chosen.length) order.pronunciation_dictionaries = chosen;
      if (begins.value) order.not_before = new Date(begins.value).toISOString();
      if (folder.value.trim()) order.output.destination = { prefix: folder.value.trim() };
      if (receiver.value.trim()) order.webhook = { url: receiver.value.trim() };
    },
  };
}
