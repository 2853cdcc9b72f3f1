"""Which SSML is understood, as data: `/v1/capabilities` shows this table and the parser obeys it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SsmlElement:
    """supported: False is refused with `note` as the reason. attributes: those that are understood, all others are
    refused."""

    name: str
    attributes: tuple[str, ...] = ()
    note: str = ""
    supported: bool = True


def _refused(name: str, reason: str) -> SsmlElement:
    return SsmlElement(name, note=reason, supported=False)


MAX_BREAK_S = 10.0

BREAK_STRENGTHS_S = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": 0.5, "strong": 0.9, "x-strong": 1.5}
DEFAULT_BREAK = "medium"

SPELL_OUT = ("characters", "spell-out")

_PROSODY = "the model has no control of its own for it; say how to speak in `instructions`, where the model takes them"

SSML_SUBSET = (
    SsmlElement("speak", ("version", "xml:lang", "xmlns"), "the root; its language is that of the whole text"),
    SsmlElement("p", ("xml:lang",), "a paragraph"),
    SsmlElement("s", ("xml:lang",), "a sentence"),
    SsmlElement("break", ("time", "strength"), "up to 10 s; before the first word it has no effect"),
    SsmlElement("voice", ("name",), "a voice of the model, or one of yours by name or id"),
    SsmlElement("lang", ("xml:lang",), "a language of the model as a BCP 47 tag"),
    SsmlElement("sub", ("alias",), "the alias is spoken in place of the text"),
    SsmlElement("say-as", ("interpret-as",), f"{' and '.join(SPELL_OUT)} only; else use `normalization`"),
    SsmlElement("w", (), "a word; changes nothing"),
    SsmlElement("token", (), "a word; changes nothing"),
    SsmlElement("metadata", (), "skipped with what it holds"),
    _refused("phoneme", "the models read letters, no phonemes; use <sub> or a pronunciation dictionary"),
    _refused("prosody", _PROSODY),
    _refused("emphasis", _PROSODY),
    _refused("lexicon", "nothing is fetched from elsewhere; use `pronunciation_dictionaries`"),
    _refused("lookup", "nothing is fetched from elsewhere; use `pronunciation_dictionaries`"),
    _refused("audio", "recordings are not mixed in"),
    _refused("mark", "there are no events for marks; `output.timestamps` has every segment's time"),
    _refused("desc", "it belongs to <audio>, which is refused"),
    _refused("meta", "use `metadata` of the job"),
)

SSML_ELEMENTS = {element.name: element for element in SSML_SUBSET}
