"""From a script to what is spoken of it, in segments. Pure: a script in, a draft or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reading.cleaning.cleaning import without_litter
from reading.cleaning.letters import find_odd_letters
from reading.dialogue.proposal import Dialogue
from reading.drafting.languages import is_english, language_warnings, refuse_foreign_text
from reading.drafting.spec import ReadingSpec
from reading.drafting.unplannable import Unplannable
from reading.drafting.warnings import DOCUMENT_REPAIRED, LINES_NOT_FOUND, SEGMENTS_SHORTENED, SSML_LEFT_OUT, TextWarning
from reading.estimates import MAX_AUDIO_MS, expected_audio_ms
from reading.plan.plan import Plan, PlanSegment
from reading.plan.sentences import sentence_break
from reading.script.dialogue import dialogue_script
from reading.script.left_out import quoted
from reading.script.script import LeftOutText, Script, VoicedSpan
from reading.segmenting.segmentation import NothingToSpeak, SegmentedScript, segment_script
from reading.spelling.job_spelling import respell_script
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.input import SourceType
from rhapsode.contract.jobs.output import Files, Timestamps
from rhapsode.contract.words import MAX_WORD_CHARS, find_long_word

MAX_CHAPTER_FILES = 10_000
"""Of chapters, in one format. A book of more is one whose table of contents is none."""

MOST_TOLD = 20
"""Kinds of elements that a warning names."""


@dataclass(frozen=True, slots=True)
class Draft:
    """plan: without the keys of what is stored beside it. text: what its offsets refer to. speech_ms: without pauses.

    cover: a picture's bytes as they came. has_chapters: whether the input is divided by its writer.
    left_out: as of the script. dialogue: proposed speakers, if the request asks for them
    and the text is English.
    """

    plan: Plan
    text: str
    speech_ms: int
    warnings: tuple[TextWarning, ...] = ()
    has_chapters: bool = False
    cover: bytes | None = None
    left_out: tuple[LeftOutText, ...] = ()
    dialogue: Dialogue | None = None


def plain_text_script(text: str, spec: ReadingSpec) -> Script:
    """Of a text as it was given, in which names of the job's cast may begin a turn."""
    return without_litter(dialogue_script(text, [member.name for member in spec.cast]), is_book=False)


def draft_script(
    script: Script, spec: ReadingSpec, dictionaries: Sequence[bytes] = (), lines: Mapping[str, str] | None = None
) -> Draft:
    """dictionaries: the spec's, in their order. lines: speakers of quotations, by id.

    Raises `Unplannable`, or `DictionaryDamaged` for a dictionary.
    """
    script = _with_unheard_marks(script, spec)
    script, num_missing = _voiced(script, lines, spec.request.pauses.cut_s)
    _refuse_long_words(script.text)
    letters = SpokenText(script.text, list(find_odd_letters(script.text)))
    typed = as_typed(script, letters)
    segmented = _segmented(respell_script(typed, spec.request, dictionaries), spec)
    if typed is not script:
        segmented = replace(segmented, segments=tuple(as_it_came(each, letters) for each in segmented.segments))
    _refuse_many_files(len(segmented.chapters), spec)
    refuse_foreign_text(segmented.segments, spec)
    speech_ms = sum(expected_audio_ms(segment.text) for segment in segmented.segments)
    _refuse_endless(speech_ms + round(1000 * sum(segment.pause_after_s for segment in segmented.segments)))
    return Draft(
        _plan(script, segmented),
        script.text,
        speech_ms,
        (
            *_shortened(spec),
            *language_warnings(segmented.segments, spec),
            *_not_done(script, spec),
            *_lines_not_found(num_missing),
        ),
        bool(script.chapters),
        script.cover,
        script.left_out,
        _dialogue(script) if spec.request.input.find_speakers and is_english(script.text, spec) else None,
    )


def _voiced(script: Script, lines: Mapping[str, str] | None, tag_pause_s: float) -> tuple[Script, int]:
    if not lines:
        return script, 0
    # Its tables take 2 MB and 40 ms, which a job without a cast does not pay for.
    from reading.dialogue.voicing import voiced_script

    return voiced_script(script, lines, tag_pause_s)


def _dialogue(script: Script) -> Dialogue:
    from reading.dialogue.attribution import propose_speakers

    return propose_speakers(script)


def _plan(script: Script, segmented: SegmentedScript) -> Plan:
    return Plan(
        segmented.segments,
        segmented.chapters,
        script.title,
        script.author,
        script.language,
        publisher=script.publisher,
        date=script.date,
        marks=script.marks,
    )


def _with_unheard_marks(script: Script, spec: ReadingSpec) -> Script:
    """Marks are left out if no output file has their times."""
    if not script.marks or spec.request.output.timestamps is not Timestamps.OFF:
        return script
    unheard = LeftOutText("mark, as output.timestamps is off", len(script.marks), quoted(script.marks[0].name))
    return replace(script, left_out=(*script.left_out, unheard))


def _segmented(script: Script, spec: ReadingSpec) -> SegmentedScript:
    try:
        return segment_script(script, spec.segmentation, spec.request.pauses)
    except NothingToSpeak as error:
        raise Unplannable("invalid_request", str(error)) from error


def _refuse_long_words(text: str) -> None:
    """The API has looked at what came with the request; what a document says is known only now."""
    at = find_long_word(text)
    if at is not None:
        too_long = f"the word at character {at} has more than {MAX_WORD_CHARS} characters"
        raise Unplannable("invalid_request", f"{too_long}; add spaces or remove it")


def _refuse_endless(expected_ms: int) -> None:
    """The API has looked at the speech where it could; how many pauses there are is known only now."""
    if expected_ms > MAX_AUDIO_MS:
        limit_h = MAX_AUDIO_MS / 3_600_000
        detail = (
            f"speech and pauses would last about {expected_ms / 3_600_000:.1f} hours; a job has at most {limit_h:.0f}"
        )
        raise Unplannable("text_too_long", detail)


def _not_done(script: Script, spec: ReadingSpec) -> Iterator[TextWarning]:
    """Elements of SSML, of which the plan has all kinds, and what is broken in a document."""
    if script.repairs:
        yield TextWarning(DOCUMENT_REPAIRED, f"read with repairs and guesses: {_kinds(script.repairs)}")
    if spec.request.input.type is SourceType.SSML and script.left_out:
        yield TextWarning(SSML_LEFT_OUT, f"read without what these would change: {_kinds(script.left_out)}")


def _lines_not_found(number: int) -> Iterator[TextWarning]:
    if number:
        detail = f"{number:,} lines of the cast are not in this text; their words are spoken by the job's voice"
        yield TextWarning(LINES_NOT_FOUND, detail)


def _kinds(left_out: Sequence[LeftOutText]) -> str:
    """The first of them."""
    told = [f"{each.kind} ({each.count}, first at {each.first})" for each in left_out[:MOST_TOLD]]
    more = len(left_out) - len(told)
    return f"{', '.join(told)}{f' and {more} other kinds' if more else ''}"


def _shortened(spec: ReadingSpec) -> Iterator[TextWarning]:
    """Not to who left the lengths to us, or got those that were asked for."""
    asked_chars = spec.bounds.asked_chars
    if asked_chars:
        detail = (
            f"segments of up to {asked_chars} characters were asked for, and {spec.model} speaks at most "
            f"{spec.request.segmentation.max_chars}: longer sentences are cut at their clauses"
        )
        yield TextWarning(SEGMENTS_SHORTENED, detail)


def _refuse_many_files(num_chapters: int, spec: ReadingSpec) -> None:
    """Now, not after hours of speech."""
    in_chapters = any(form.files is Files.CHAPTERS for form in spec.request.output.formats)
    if in_chapters and num_chapters > MAX_CHAPTER_FILES:
        detail = f"the document has {num_chapters:,} chapters, and {MAX_CHAPTER_FILES:,} files of a format are the most"
        raise Unplannable("invalid_request", f"{detail}; ask for whole files, or `include` fewer chapters")


def as_typed(script: Script, letters: SpokenText) -> Script:
    """letters: of the script's text. The same script where none of them is odd; its marks stay where they were."""
    if letters.text == script.text:
        return script
    at = letters.from_source

    def moved(span: VoicedSpan) -> VoicedSpan:
        return replace(span, start=at(span.start), end=at(span.end))

    return replace(
        script,
        text=letters.text,
        blocks=tuple(replace(block, spans=tuple(map(moved, block.spans))) for block in script.blocks),
        replacements=tuple(replace(each, start=at(each.start), end=at(each.end)) for each in script.replacements),
        chapters=tuple(replace(each, start=at(each.start)) for each in script.chapters),
    )


def as_it_came(segment: PlanSegment, letters: SpokenText) -> PlanSegment:
    """Its places are those of the text before `as_typed`."""
    at = letters.to_source
    start = at(segment.start)
    threes = [(each, each, each) if isinstance(each, int) else each for each in segment.breaks]
    breaks = tuple(
        sentence_break(at(segment.start + source) - start, spoken, written) for source, spoken, written in threes
    )
    return replace(segment, start=start, end=at(segment.end), breaks=breaks)
