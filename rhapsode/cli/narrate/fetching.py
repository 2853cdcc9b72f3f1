"""The downloads of `rhapsode narrate`, and the result that it prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rhapsode.cli.file_names import plain_name
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from rhapsode.cli.narrate.audio_options import Subtitles
    from rhapsode.cli.narrate.targets import ChapterTarget, Targets
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.jobs.answer import Artifact


TIMESTAMPS = "timestamps.json"


def fetch(client: Rhapsode, job: Job, targets: Targets, subtitles: Iterable[Subtitles], console: Console) -> Artifact:
    """Download the speech with its subtitles and times. Returns its artifact, or the list of chapters.

    After Ctrl-C it says how to download the rest.
    """
    try:
        if targets.chapters is not None:
            _fetch_chapters(client, job, targets.chapters)
        artifact = _main(job, targets)
        if targets.file is not None:
            client.download(job, artifact, targets.file)
        for form in dict.fromkeys(subtitles):
            client.download(job, f"narration.{form}", targets.beside(f".{form}"))
        if any(each.name == TIMESTAMPS for each in job.artifacts):
            client.download(job, TIMESTAMPS, targets.beside(f".{TIMESTAMPS}"))
    except KeyboardInterrupt:
        kept = f"; the server keeps its speech: rhapsode jobs download {job.id}"
        console.print(f"job {job.id} {job.state}{kept}", markup=False, highlight=False, soft_wrap=True)
        raise
    return artifact


def _main(job: Job, targets: Targets) -> Artifact:
    wanted = "chapters" if targets.file is None else targets.file.suffix.lower().removeprefix(".")
    return next(each for each in job.artifacts if each.type == wanted)


def _fetch_chapters(client: Rhapsode, job: Job, target: ChapterTarget) -> None:
    target.folder.mkdir(exist_ok=True)
    for artifact in client.artifacts(job):
        if artifact.chapter is not None and artifact.type == target.form:
            client.download(job, artifact, target.folder / plain_name(artifact.name))


def summarise(
    client: Rhapsode, job: Job, artifact: Artifact, targets: Targets, wall_s: float, *, as_json: bool
) -> None:
    """Real-time factor: wall seconds from submission to success, per second of speech; lower is better."""
    from rhapsode.cli.formatting import counted, span, warned
    from rhapsode.contract.jobs.narration import ShownNarration

    audio_s = artifact.duration_s or 0.0
    factor = wall_s / audio_s if audio_s else 0.0
    request = job.request if isinstance(job.request, ShownNarration) else None
    notice = next((m.notice for m in client.models() if request and m.name == request.model), "")
    if as_json:
        facts = {
            "file": str(targets.main),
            "chapter_folder": str(targets.chapters.folder) if targets.chapters else None,
            "job": job.id,
            "audio_s": round(audio_s, 3),
            "wall_s": round(wall_s, 3),
            "real_time_factor": round(factor, 4),
            "segments": job.progress.segments.total,
            "model": request.model if request else None,
            "voice": request.voice if request else None,
            "seed": request.seed if request else None,
            "notice": notice,
            "warnings": [each.model_dump() for each in job.warnings],
        }
        echo(json.dumps(facts))
        return
    speed = f", {1 / factor:.1f}x real time (real-time factor {factor:.3f})" if factor else ""
    echo(f"{targets.main}: {span(audio_s)} of speech in {span(wall_s)}{speed}")
    if targets.chapters:
        num_files = sum(each.files or 0 for each in job.artifacts)
        echo(f"  {counted(num_files, 'chapter')} as files in {targets.chapters.folder}")
    if request:
        segments = counted(job.progress.segments.total, "segment")
        echo(f"  {segments}, model {request.model}, voice {request.voice}, seed {request.seed}")
    if notice:
        echo(f"  {notice}")
    for warning in job.warnings:
        echo(f"  {warned(warning)}")
