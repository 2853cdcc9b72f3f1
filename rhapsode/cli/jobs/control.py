"""`rhapsode jobs pause|resume|set|retry|assemble`: change a job that was submitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.cover_file import CoverOption, readable_cover
from rhapsode.cli.failures import Misuse
from rhapsode.cli.for_each import became, for_each
from rhapsode.cli.job_fields import check, given_fields
from rhapsode.cli.jobs.waiting import WaitOption, exit_unless_succeeded, watched
from rhapsode.cli.options import KeepOption, check_choices, number_or_none, read_time
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from datetime import datetime

    from pydantic import JsonValue

    from rhapsode.client.request_options import JobChanges, RetryOptions

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, job_...")]
JobsArgument = Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids of jobs, job_...")]
DAY_S = 24 * 3600
WITH_BITRATE = ("mp3", "opus", "m4b", "aac")
SUBTITLES = ("srt", "vtt")


def pause(common: CommonOptions, jobs: JobsArgument) -> None:
    """Pause jobs; segments in progress finish and are kept."""
    for_each(common, jobs, lambda client, job: became(client.pause(job)))


def resume(common: CommonOptions, jobs: JobsArgument) -> None:
    """Resume paused jobs."""
    for_each(common, jobs, lambda client, job: became(client.resume(job)))


def set_options(
    common: CommonOptions,
    job: JobArgument,
    priority: Annotated[Literal["high", "normal", "low"] | None, typer.Option(help="The new priority.")] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help='Latest end, 2026-12-01T08:00 local time; "none" removes it.')
    ] = None,
    not_before: Annotated[str | None, typer.Option(metavar="TIME", help='Earliest start; "none" starts now.')] = None,
    keep_days: KeepOption = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Replace all metadata. Repeat it for more.")
    ] = None,
) -> None:
    """Change an unfinished job's priority, times or metadata."""
    changes: JobChanges = {}
    if priority is not None:
        changes["priority"] = priority
    if deadline is not None:
        changes["deadline"] = _time("--deadline", deadline)
    if not_before is not None:
        changes["not_before"] = _time("--not-before", not_before)
    if (retention_s := kept_s(keep_days)) is not None:
        changes["retention_s"] = retention_s
    if metadata:
        changes["metadata"] = dict(read_pair(each) for each in metadata)
    if not changes:
        options = "--priority, --deadline, --not-before, --keep-days, --metadata"
        raise Misuse(f"nothing to change; give at least one of {options}")
    with connected(common) as client:
        changed = client.change(job, **changes)
    common.echo(changed, f"{changed.id} {changed.state}")


@dataclass(frozen=True, slots=True)
class RetryGroup:
    """How the missing segments are spoken and checked."""

    gate: job_options.RetryQualityGate = None
    attempts: job_options.RetryQualityMaxAttempts = None
    on_exhausted: job_options.RetryQualityOnExhausted = None
    temperature: job_options.RetrySamplingTemperature = None
    seed: job_options.RetrySeed = None


def retry(common: CommonOptions, job: JobArgument, options: RetryGroup, wait: WaitOption = False) -> None:
    """Continue a failed, cancelled or expired job. Finished segments are kept. An expired job starts again."""
    from rhapsode.contract.jobs.control import RetryRequest

    wishes = cast("RetryOptions", given_fields(options))
    check(RetryRequest, wishes, [options])
    with connected(common) as client:
        again = client.retry(job, **wishes)
        ended = watched(client, again.id) if wait else None
    now = ended or again
    segments = now.progress.segments
    line = f"{now.id} {now.state}, {segments.done} of {segments.total or '?'} segments are done"
    common.echo(now, line)
    if ended is not None:
        exit_unless_succeeded(ended)


def assemble(
    common: CommonOptions,
    job: JobArgument,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="wav|flac|mp3|opus|m4b|aac", help="Repeat it for more formats."),
    ] = None,
    chapter_files: Annotated[
        list[str] | None,
        typer.Option("--chapter-files", metavar="FORMAT", help="Also write one file for each chapter in this format."),
    ] = None,
    bitrate: Annotated[int | None, typer.Option(metavar="KBPS", help="Bitrate of compressed formats.")] = None,
    sample_rate: Annotated[
        str | None, typer.Option(metavar="HZ", help='Sample rate of all formats; "none" is the model\'s.')
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="acx|podcast|audiobook|broadcast|none",
            help='A publisher\'s values for options that you leave out; "none" removes the preset.',
        ),
    ] = None,
    speed: Annotated[
        str | None, typer.Option(metavar="FACTOR", help='Speed factor from 0.5 to 2 at constant pitch; "none" is 1.')
    ] = None,
    loudness: Annotated[
        str | None, typer.Option(metavar="LUFS", help='Target loudness; "none" leaves it unchanged.')
    ] = None,
    subtitles: Annotated[list[str] | None, typer.Option(metavar="srt|vtt|none", help="Repeat it for both.")] = None,
    karaoke: job_options.OutputKaraoke = None,
    timestamps: job_options.OutputTimestamps = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="NAME=VALUE", help="title, author and more. An empty value removes it."),
    ] = None,
    cover: CoverOption = None,
    wait: WaitOption = False,
) -> None:
    """Write other files from the finished speech.

    Options that you leave out keep the job's values or get --preset's. A new file replaces one of the same name.
    """
    output = _changed_output(formats or [], chapter_files or [], bitrate, sample_rate, speed, loudness, subtitles)
    if karaoke is not None:
        output["karaoke"] = karaoke
    if timestamps is not None:
        output["timestamps"] = timestamps
    if preset is not None:
        from rhapsode.contract.jobs.presets import OutputPreset

        check_choices("--preset", [preset], ["none", *OutputPreset])
        output["preset"] = None if preset == "none" else preset
    if tags:
        output["tags"] = {name: value or None for name, value in map(_tag, tags)}
    picture = None if cover is None else readable_cover(cover)
    with connected(common) as client:
        if picture is not None:
            output["cover"] = client.upload(picture).id
        again = client.assemble(job, output or None)
        ended = watched(client, again.id) if wait else None
    if common.as_json:
        echo((ended or again).model_dump_json())
    elif ended is None:
        echo(f"{again.id} {again.state}; follow it with: rhapsode jobs watch {again.id}")
    else:
        echo(f"{ended.id} {ended.state}: {', '.join(each.name for each in ended.artifacts)}")
    if ended is not None:
        exit_unless_succeeded(ended)


def _changed_output(
    formats: list[str],
    chapter_files: list[str],
    bitrate: int | None,
    sample_rate: str | None,
    speed: str | None,
    loudness: str | None,
    subtitles: list[str] | None,
) -> dict[str, JsonValue]:
    """The given values only; None removes a value from the job."""
    from rhapsode.client.request_options import AudioType

    check_choices("--format", formats, get_args(AudioType))
    check_choices("--chapter-files", chapter_files, get_args(AudioType))
    output: dict[str, JsonValue] = {}
    if formats or chapter_files:
        whole = [_format(name, bitrate) for name in formats]
        output["formats"] = [*whole, *(_format(name, bitrate) | {"files": "chapters"} for name in chapter_files)]
    elif bitrate is not None:
        raise Misuse("--bitrate needs --format or --chapter-files")
    if sample_rate is not None:
        output["sample_rate"] = number_or_none("--sample-rate", sample_rate, int)
    if speed is not None:
        output["speed"] = number_or_none("--speed", speed, float)
    if loudness is not None:
        target_lufs = number_or_none("--loudness", loudness, float)
        output["loudness"] = None if target_lufs is None else {"target_lufs": target_lufs}
    if subtitles == ["none"]:
        output["subtitles"] = None
    elif subtitles:
        check_choices("--subtitles", subtitles, SUBTITLES)
        output["subtitles"] = [*subtitles]
    return output


def _format(name: str, bitrate: int | None) -> dict[str, JsonValue]:
    return {"type": name} if bitrate is None or name not in WITH_BITRATE else {"type": name, "bitrate_kbps": bitrate}


def _tag(text: str) -> tuple[str, str]:
    from rhapsode.client.request_options import TagsFields

    name, equals, value = text.partition("=")
    if not equals or name not in TagsFields.__annotations__:
        raise Misuse(f"--tag: {text!r} is not NAME=VALUE with one of {', '.join(TagsFields.__annotations__)}")
    return name, value


def _time(option: str, text: str) -> datetime | None:
    return None if text == "none" else read_time(option, text)


def kept_s(keep_days: float | None) -> int | None:
    """The seconds of `--keep-days`."""
    return None if keep_days is None else max(60, round(keep_days * DAY_S))


def read_pair(text: str) -> tuple[str, str]:
    """One `--metadata`. Raises `Misuse`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Misuse(f"--metadata: {text!r} is not NAME=VALUE")
    return name, value
