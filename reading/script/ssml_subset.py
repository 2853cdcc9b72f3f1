"""Which SSML is understood, as data: `/v1/capabilities` shows this table, and both readings obey it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from reading.script.prosody import MAX_GAIN_DB, MAX_RATE, MIN_GAIN_DB, MIN_RATE, RATES, VOLUMES_DB
from rhapsode.contract.capabilities import BreakCapability, ProsodyCapability, SsmlCapability, SsmlElementCapability


class Lenient(enum.StrEnum):
    """What the lenient reading makes of an element; one that is not in the table is `text`."""

    READ = "read"
    """As the strict one, or more."""

    TEXT = "text"
    """The text in it is spoken, the element itself listed as left out."""

    SKIPPED = "skipped"
    """It is passed over with what it holds, and listed as left out."""

    SILENT = "silent"
    """It is passed over with what it holds, which nobody was to hear."""


@dataclass(frozen=True, slots=True)
class SsmlElement:
    """attributes: those that the strict reading understands; all others it refuses. more: those that the lenient one
    understands besides. supported: False is refused by the strict one with `note` as the reason."""

    name: str
    attributes: tuple[str, ...] = ()
    note: str = ""
    supported: bool = True
    lenient: Lenient = Lenient.READ
    more: tuple[str, ...] = ()

    @property
    def lenient_attributes(self) -> tuple[str, ...]:
        return (*self.attributes, *self.more) if self.lenient is Lenient.READ else ()


def _refused(name: str, lenient: Lenient, reason: str, more: tuple[str, ...] = ()) -> SsmlElement:
    return SsmlElement(name, note=reason, supported=False, lenient=lenient, more=more)


MAX_BREAK_S = 10.0

BREAK_STRENGTHS_S = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": 0.5, "strong": 0.9, "x-strong": 1.5}
DEFAULT_BREAK = "medium"

SPELL_OUT = ("characters", "spell-out")
"""What the strict reading interprets text as."""

SAY_AS = (
    *(*SPELL_OUT, "verbatim", "name", "net", "address", "media", "cardinal", "number", "ordinal", "digits", "digit"),
    *("telephone", "date", "time", "duration", "fraction", "unit", "currency", "expletive", "bleep"),
)
"""What the lenient one does; of the last two nothing is said."""

MAX_MARK_CHARS = 200

_EMPHASIS = (
    "no model takes orders for the stress of a word; if the model accepts `instructions`, say there how to speak"
)
_PHONEME = (
    "the models read letters and know no phones: the small voice has learned words by their spelling; use <sub> or a "
    "pronunciation dictionary"
)
_ELSEWHERE = "nothing is fetched from elsewhere; use `pronunciation_dictionaries`"
_AT_ONCE = "one after the other"

SSML_SUBSET = (
    SsmlElement("speak", ("version", "xml:lang", "xmlns"), "the root; its language is that of the whole text"),
    SsmlElement("p", ("xml:lang",), "a paragraph"),
    SsmlElement("s", ("xml:lang",), "a sentence"),
    SsmlElement("break", ("time", "strength"), "up to 10 s; before the first word it has no effect"),
    SsmlElement("voice", ("name",), "a voice of the model, or one of yours by name or id", more=("xml:lang",)),
    SsmlElement("lang", ("xml:lang",), "a language of the model as a BCP 47 tag"),
    SsmlElement(
        "prosody",
        ("rate", "volume"),
        "faster, slower, louder and softer in the finished files; inside a sentence it is cut there, as for a voice. "
        "`silent` is not spoken and takes no time. Pitch, contour, range and duration no model has a control for",
    ),
    SsmlElement(
        "mark",
        ("name",),
        "a name for the next word, or the last one before a pause; `timestamps.json` has its time at each level",
    ),
    SsmlElement("sub", ("alias",), "the alias is spoken in place of the text"),
    SsmlElement(
        "say-as", ("interpret-as",), f"strict: {' and '.join(SPELL_OUT)}, else use `normalization`", more=("format",)
    ),
    SsmlElement("w", (), "a word; changes nothing"),
    SsmlElement("token", (), "a word; changes nothing"),
    SsmlElement("metadata", (), "skipped with what it holds", lenient=Lenient.SILENT),
    _refused("bookmark", Lenient.READ, "another vendor's <mark>; use that", ("mark",)),
    _refused("phoneme", Lenient.TEXT, _PHONEME),
    _refused("emphasis", Lenient.TEXT, _EMPHASIS),
    _refused("lexicon", Lenient.SKIPPED, _ELSEWHERE),
    _refused("lookup", Lenient.TEXT, _ELSEWHERE),
    _refused("audio", Lenient.TEXT, "recordings are not mixed in; lenient: the text in it is spoken"),
    _refused("par", Lenient.TEXT, f"nothing is spoken at once; lenient: {_AT_ONCE}"),
    _refused("seq", Lenient.READ, f"of no use without <par>; lenient: {_AT_ONCE}"),
    _refused("media", Lenient.TEXT, f"of no use without <par>; lenient: {_AT_ONCE}"),
    _refused("desc", Lenient.SILENT, "it belongs to <audio>, which is refused"),
    _refused("meta", Lenient.SILENT, "use `metadata` of the job"),
    _refused("mstts:backgroundaudio", Lenient.SKIPPED, "recordings are not mixed in"),
    _refused("mstts:viseme", Lenient.SKIPPED, "visemes are not supported"),
)

SSML_ELEMENTS = {element.name: element for element in SSML_SUBSET}

_UNKNOWN = _refused("", Lenient.TEXT, "not in the table")


def ssml_capability() -> SsmlCapability:
    return SsmlCapability(
        elements=tuple(
            SsmlElementCapability(
                name=element.name,
                supported=element.supported,
                attributes=element.attributes,
                lenient=element.lenient.value,
                lenient_attributes=element.lenient_attributes,
                note=element.note,
            )
            for element in SSML_SUBSET
        ),
        breaks=BreakCapability(max_s=MAX_BREAK_S, strengths_s=BREAK_STRENGTHS_S),
        prosody=ProsodyCapability(
            rates=RATES,
            min_rate=MIN_RATE,
            max_rate=MAX_RATE,
            volumes_db=VOLUMES_DB,
            min_volume_db=MIN_GAIN_DB,
            max_volume_db=MAX_GAIN_DB,
        ),
        say_as=SPELL_OUT,
        lenient_say_as=SAY_AS,
    )


def lenient_element(name: str) -> SsmlElement:
    return SSML_ELEMENTS.get(name, _UNKNOWN)
