"""`rhapsode jobs sentences|segments|edit|takes`: the parts of a narration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import Misuse
from rhapsode.cli.file_names import make_folder, plain_id
from rhapsode.cli.formatting import clock
from rhapsode.cli.job_fields import check, given_fields
from rhapsode.cli.jobs.control import JobArgument
from rhapsode.cli.jobs.waiting import WaitOption, exit_unless_succeeded, watched
from rhapsode.cli.options import check_choices
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.request_options import SegmentChanges
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.segments import Segment, Sentence, Take, TriedAttempt

RowsOption = Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of rows.")]
SegmentArgument = Annotated[str, typer.Argument(metavar="SEGMENT", help="A segment's id, seg_000012, or its index.")]

EditedArgument = Annotated[
    str,
    typer.Argument(
        metavar="SENTENCE",
        help="A sentence's id from `jobs sentences`, such as seg_000012.2, or a segment's id, seg_000012.",
    ),
]


def list_segments(
    common: CommonOptions,
    job: JobArgument,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="pending|running|done|failed", help="Only segments in this state. Repeat it for more."),
    ] = None,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only segments with a quality warning.")] = False,
    limit: RowsOption = None,
) -> None:
    """List a job's segments: times, takes, text.

    `jobs sentences` lists single sentences. With --json: one JSON object per line.
    """
    from rhapsode.contract.segments import SegmentState

    check_choices("--state", state or [], tuple(SegmentState))
    wanted = frozenset(SegmentState(name) for name in state or [])
    with connected(common) as client:
        found = list(islice(client.segments.list(job, wanted, flagged=True if flagged else None), limit))
    none = "no such segments" if state or flagged else "no segments yet: the text is not planned"
    common.echo_each(found, _line, none)


def list_sentences(common: CommonOptions, job: JobArgument, limit: RowsOption = None) -> None:
    """List a job's sentences with their ids for `jobs edit`.

    To find one: `rhapsode jobs sentences JOB | grep WORD`. With --json: one JSON object per line.
    """
    with connected(common) as client:
        found = ((segment, sentence) for segment in client.segments.list(job) for sentence in segment.sentences)
        shown = list(islice(found, limit))
    for segment, sentence in shown:
        common.echo(sentence, _sentence_line(segment, sentence))
    if not shown and not common.as_json:
        echo("no sentences yet: the text is not planned")


@dataclass(frozen=True, slots=True)
class EditGroup:
    """What a segment says, and how."""

    text: job_options.SegmentText = None
    voice: job_options.SegmentVoice = None
    speaker: job_options.SegmentSpeaker = None
    language: job_options.SegmentLanguage = None
    instructions: job_options.SegmentInstructions = None
    seed: job_options.SegmentSeed = None


def edit_segment(
    common: CommonOptions,
    job: JobArgument,
    place: EditedArgument,
    edit: EditGroup,
    words: Annotated[str | None, typer.Argument(metavar="TEXT", help="The new text, as with --text.")] = None,
    wait: WaitOption = False,
) -> None:
    """Change the words of a sentence, or a whole segment.

    With a sentence's id, only the text can change. Rhapsode generates its segment again, then joins the files. Several
    edits in a row cause one join. A failed or cancelled job keeps the edit for `jobs retry`.
    """
    from rhapsode.contract.segments import SegmentChange

    changes = cast("SegmentChanges", given_fields(edit))
    if words is not None:
        if "text" in changes:
            raise Misuse("TEXT and --text exclude each other")
        changes["text"] = words
    if not changes:
        names = ", ".join(f"--{each.name}" for each in fields(edit))
        raise Misuse(f"nothing to change; give at least one of {names}; `jobs takes --new` says the same words again")
    is_sentence = "." in place
    if is_sentence and set(changes) != {"text"}:
        raise Misuse(f"{place} is a sentence and takes only --text; voice, language and seed belong to segments")
    check(SegmentChange, changes, [edit])
    with connected(common) as client:
        if is_sentence:
            edited = client.segments.edit_sentence(job, place, cast("str", changes.get("text")))
        else:
            edited = client.segments.edit(job, place, **changes)
        _print_final(common, client, job, edited, is_awaited=wait)


def take_segment(
    common: CommonOptions,
    job: JobArgument,
    segment: SegmentArgument,
    new: Annotated[bool, typer.Option("--new", help="Generate another take: another seed, or Kokoro's speed.")] = False,
    select: Annotated[int | None, typer.Option(metavar="TAKE", min=1, help="Use this take in the narration.")] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="ATTEMPT", min=1, help="Keep this attempt of a failed segment.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="With --new: the take's seed.")] = None,
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Save all takes as WAV in this folder.")] = None,
    wait: WaitOption = False,
) -> None:
    """List, add, choose or save a segment's takes. For a failed segment it lists the attempts and their faults.

    After --keep, `rhapsode jobs retry` joins the files.
    """
    from rhapsode.cli.jobs.segment_files import save_take

    if new + (select is not None) + (keep is not None) > 1:
        raise Misuse("--new, --select and --keep exclude each other: a new take is selected when it is finished")
    if seed is not None and not new:
        raise Misuse("--seed is for --new")
    if wait and not new and select is None:
        raise Misuse("--wait is for --new and --select")
    if save is not None:
        make_folder(save)
    stem = "" if save is None else plain_id(f"{job}-{segment}")
    with connected(common) as client:
        segments = client.segments
        if new or select is not None or keep is not None:
            if keep is not None:
                made = segments.keep(job, segment, keep)
            elif select is not None:
                made = segments.select(job, segment, select)
            else:
                made = segments.regenerate(job, segment, seed=seed)
            _print_final(common, client, job, made, is_awaited=wait)
            return
        takes = segments.takes(job, segment)
        for take in takes:
            common.echo(take, _take_line(take))
            if save is not None:
                path = save / f"{stem}-take-{take.take}.wav"
                save_take(path, client.segments.audio(job, segment, take.take))
                echo(f"  {path}", err=True)
        tried = () if takes else client.segments.get(job, segment).tried or ()
        for attempt in tried:
            common.echo(attempt, _attempt_line(attempt))
            if save is not None and attempt.audio is not None:
                path = save / f"{stem}-rejected-{attempt.attempt}.wav"
                save_take(path, client.segments.audio(job, segment, attempt=attempt.attempt))
                echo(f"  {path}", err=True)
    if not takes and not tried and not common.as_json:
        echo("no finished take yet")


def _print_final(common: CommonOptions, client: Rhapsode, job: str, segment: Segment, *, is_awaited: bool) -> None:
    """Print the segment as it is now, or after the job's end."""
    ended = watched(client, job) if is_awaited else None
    now = segment if ended is None else client.segments.get(job, segment)
    common.echo(now, _line(now))
    if ended is not None:
        exit_unless_succeeded(ended)


def _line(segment: Segment) -> str:
    start = "-" if segment.start_s is None else clock(segment.start_s)
    length = "-" if segment.duration_s is None else f"{segment.duration_s:.1f} s"
    take = f"take {segment.take}" if segment.takes > 1 else ""
    found = ",".join(segment.findings)
    return "\t".join((segment.id, segment.state, start, length, take, found, " ".join(segment.written.split())))


def _sentence_line(segment: Segment, sentence: Sentence) -> str:
    start = "-" if sentence.start_s is None else clock(sentence.start_s)
    return "\t".join((sentence.id, segment.state, start, " ".join(sentence.text.split())))


def _take_line(take: Take) -> str:
    mark = "*" if take.selected else " "
    length = "-" if take.duration_s is None else f"{take.duration_s:.1f} s"
    return "\t".join((f"{mark} {take.take}", length, f"seed {take.seed_used}", ",".join(take.findings), take.text))


def _attempt_line(tried: TriedAttempt) -> str:
    """A rejected attempt."""
    halves = "in two parts" if tried.parts > 1 else ""
    return "\t".join((f"x {tried.attempt}", f"seed {tried.seed}", halves, "; ".join(tried.reasons)))
