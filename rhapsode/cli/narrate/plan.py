"""`rhapsode plan`: chapters, segments and duration of a text or a book, without speech."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import interruptible
from rhapsode.cli.formatting import counted
from rhapsode.cli.narrate.files import Spoken, choose_speakers, read_spoken, sent_input, with_parts
from rhapsode.cli.narrate.reading_options import (
    DescribeImagesOption,
    EncodingOption,
    IncludeOption,
    SpeakerOption,
    StrictSsmlOption,
    WordsOption,
    normalization,
)
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobOptions
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.plans import PlanDocument


def plan(
    common: CommonOptions,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The text or book to plan: .txt, .md, .html, .epub, .docx, .pdf or .ssml; - reads standard input.",
        ),
    ],
    speaker: SpeakerOption = None,
    voice: job_options.Voice = None,
    language: job_options.Language = None,
    dictionary: job_options.PronunciationDictionaries = None,
    words: WordsOption = None,
    emoji: job_options.Emoji = None,
    describe_images: DescribeImagesOption = False,
    include: IncludeOption = None,
    encoding: EncodingOption = None,
    strict_ssml: StrictSsmlOption = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="List every change from the written to the spoken text.")
    ] = False,
    sentences: Annotated[bool, typer.Option("--sentences", help="Show every sentence with its spoken text.")] = False,
    model: job_options.Model = None,
) -> None:
    """Show chapters, segments and duration before you narrate.

    It needs a running server, such as `rhapsode up`. It makes no speech, and the server keeps nothing of the text.
    """
    spoken = with_parts(read_spoken(file, encoding, strict_ssml=strict_ssml), include)
    speakers = choose_speakers(speaker or [])
    options: JobOptions = {
        "speakers": speakers or None,
        "voice": voice,
        "language": language,
        "model": model,
        "pronunciation_dictionaries": dictionary or None,
        "normalization": normalization(words),
        "emoji": emoji,
    }
    with connected(common) as client, interruptible():
        made = planned(client, spoken, options, describe_images=describe_images)
    lines = [*_lines(made), *(_sentences(made) if sentences else ()), *(_changes(made) if changes else ())]
    echo(made.model_dump_json(indent=1) if common.as_json else "\n".join(lines))


def planned(
    client: Rhapsode,
    spoken: Spoken,
    options: JobOptions,
    *,
    describe_images: bool = False,
    find_speakers: bool = False,
) -> PlanDocument:
    """The server keeps neither a job nor the document."""
    given = sent_input(client, spoken, describe_images=describe_images)
    if find_speakers:
        given["find_speakers"] = True
    try:
        return client.plan(given, **options)
    finally:
        if upload_id := given.get("document", {}).get("upload_id"):
            client.delete_upload(upload_id)


def _lines(plan: PlanDocument) -> list[str]:
    heading = " by ".join(part for part in (plan.title, plan.author) if part)
    took = "" if plan.estimated_render_s is None else f", takes about {_clock(plan.estimated_render_s)} to make"
    lines = [heading] if heading else []
    size = f"{counted(plan.num_segments, 'segment')}, {counted(plan.num_chars, 'character')}"
    lines.append(f"{size}, {_clock(plan.estimated_audio_s)}{took}")
    for speaker in plan.speakers:
        who = f"{speaker.name} ({speaker.voice})" if speaker.name else f"{speaker.voice or 'the designed voice'}"
        lines.append(f"  {_clock(speaker.estimated_audio_s)}  {who}: {counted(speaker.num_segments, 'segment')}")
    for chapter in plan.chapters:
        lines.append(f"{chapter.id:>4}  {_clock(chapter.estimated_audio_s)}  {chapter.title}")
    lines += [f"left out: {each.kind} ({each.count}), first: {each.first}" for each in plan.left_out]
    return [*lines, *(f"warning: {each.detail} ({each.code})" for each in plan.warnings)]


def _changes(plan: PlanDocument) -> Iterator[str]:
    """Two lines for each sentence whose spoken text differs from the written text."""
    for index, source, text in _spoken(plan):
        if source is not None:
            yield f"{index:>6}  - {source}"
            yield f"{'':>6}  + {text}"


def _sentences(plan: PlanDocument) -> Iterator[str]:
    """A line for each written sentence, and its spoken text below if that differs."""
    for index, source, text in _spoken(plan):
        yield f"{index:>6}  {text if source is None else source}"
        if source is not None:
            yield f"{'':>6}  + {text or '(nothing)'}"


def _spoken(plan: PlanDocument) -> Iterator[tuple[int, str | None, str]]:
    """Each sentence's segment, its written text if that differs, and its spoken text."""
    for segment in plan.segments:
        for each in segment.sentences or (segment,):
            yield segment.index, each.source, each.text


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
