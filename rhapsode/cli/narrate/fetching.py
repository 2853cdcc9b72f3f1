"""The downloads of `rhapsode narrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rhapsode.cli.file_names import plain_name

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
