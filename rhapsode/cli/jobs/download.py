"""`rhapsode jobs download`: the verified files of a job, or its segments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import Misuse, interruptible
from rhapsode.cli.file_names import plain_id, plain_name, titled
from rhapsode.cli.jobs.listing import file_title
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.jobs.answer import Artifact


def download(
    common: CommonOptions,
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job's id, job_...")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Files to download, named as in `jobs show`. Default: all."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="A folder, or a file name for one file. Default: here."),
    ] = None,
    by_segment: Annotated[
        bool, typer.Option("--segments", help="Download each finished segment as a WAV instead.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files with other content.")] = False,
) -> None:
    """Download a job's audio, subtitles and manifest.

    Without NAME, file names begin with the job's title, or with its first words. If another file has that name, they
    also get the job's id. Each file is verified, and appears when it is complete. A repeat continues an interrupted
    download and skips complete files. With --segments you get the speech so far, in a folder named after the job.
    With --json: one JSON object per file.
    """
    if by_segment and names:
        raise Misuse("--segments is for all finished segments; leave the names out")
    with connected(common) as client, interruptible():
        if by_segment:
            _save_segments(client, job, output, is_forced=force, as_json=common.as_json)
            return
        for saved in save_files(client, job, names or [], output, is_forced=force, is_titled=not names):
            echo(saved.document() if common.as_json else saved.line())


@dataclass(frozen=True, slots=True)
class Saved:
    """A complete file on this machine. is_new: it was downloaded now."""

    path: Path
    num_bytes: int
    sha256: str
    is_new: bool

    def line(self) -> str:
        return f"{self.path}: {self.num_bytes:,} bytes" if self.is_new else f"{self.path} is here already"

    def document(self) -> str:
        facts = {"path": str(self.path), "bytes": self.num_bytes, "sha256": self.sha256, "fetched": self.is_new}
        return json.dumps(facts)


def save_files(
    client: Rhapsode,
    job_id: str,
    names: Sequence[str],
    output: Path | None,
    *,
    is_forced: bool,
    is_titled: bool = False,
) -> Iterator[Saved]:
    """Download files by name, or all without names. is_titled: file names begin with the job's title.

    Raises `Misuse` for existing other files, before the first download.
    """
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.jobs.progress_bars import download_display

    job = _with_all_files(client, client.job(job_id))
    places = _places(_wanted(job, names), output, file_title(job) if is_titled else "")
    missing = [(artifact, path) for artifact, path in places if not _is_here(artifact, path)]
    if is_titled and not is_forced and any(path.exists() for _, path in missing):
        places = _places(_wanted(job, names), output, f"{file_title(job)} {job.id}")
        missing = [(artifact, path) for artifact, path in places if not _is_here(artifact, path)]
    _refuse_existing((path for _, path in missing), is_forced=is_forced)
    console = VisibleConsole(stderr=True)
    for artifact, path in places:
        is_new = (artifact, path) in missing
        if is_new:
            with download_display(console, artifact.name, artifact.bytes) as show:
                client.download(job, artifact, path, on_bytes=show)
        yield Saved(path, artifact.bytes, artifact.sha256, is_new)


def _with_all_files(client: Rhapsode, job: Job) -> Job:
    """With the files of chapters, which the job itself does not list."""
    if not any(each.files for each in job.artifacts):
        return job
    return job.model_copy(update={"artifacts": client.artifacts(job)})


def _wanted(job: Job, names: Sequence[str]) -> list[Artifact]:
    """Raises `RhapsodeError` for a job without files, and for an unknown name."""
    from rhapsode.errors import RhapsodeError

    if not job.artifacts:
        raise RhapsodeError(f"job {job.id} is {job.state} and has no files{_instead(job)}")
    try:
        return [job.artifact(name) for name in dict.fromkeys(names)] or [*job.artifacts]
    except KeyError as error:
        raise RhapsodeError(str(error.args[0])) from error


def _instead(job: Job) -> str:
    if job.kind != "synthesis":
        return ": it prepares voices"
    if not job.state.is_terminal:
        return f" yet; `rhapsode jobs watch {job.id}` waits for it, --segments saves the finished segments"
    return "; --segments saves the finished segments" if job.progress.segments.done else ", and no finished segments"


def _places(artifacts: Sequence[Artifact], output: Path | None, title: str) -> list[tuple[Artifact, Path]]:
    """The path of each file; several need a folder, which is made. Raises `Misuse`."""
    if output is not None and len(artifacts) > 1:
        if output.exists() and not output.is_dir():
            raise Misuse(f"-o: {output} is not a folder, and there are {len(artifacts)} files")
        output.mkdir(parents=True, exist_ok=True)
    if output is not None and not output.is_dir():
        if not output.parent.is_dir():
            raise Misuse(f"-o: {output.parent} is not a folder")
        return [(artifacts[0], output)]
    return [(artifact, (output or Path()) / titled(plain_name(artifact.name), title)) for artifact in artifacts]


def _is_here(artifact: Artifact, path: Path) -> bool:
    if not path.is_file() or path.stat().st_size != artifact.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == artifact.sha256


def _refuse_existing(paths: Iterable[Path], *, is_forced: bool) -> None:
    for path in paths:
        if path.exists() and not path.is_file():
            raise Misuse(f"{path} is a folder or a device; -o chooses another place")
        if path.exists() and not is_forced:
            raise Misuse(f"{path} exists and is another file; --force replaces it, -o chooses another place")


def _save_segments(client: Rhapsode, job: str, output: Path | None, *, is_forced: bool, as_json: bool) -> None:
    from rhapsode.cli.formatting import counted
    from rhapsode.cli.jobs.segment_files import save_take
    from rhapsode.contract.segments import SegmentState
    from rhapsode.errors import RhapsodeError

    if output is not None and output.exists() and not output.is_dir():
        raise Misuse(f"-o: {output} is not a folder")
    folder = output or Path(plain_id(job))
    finished = list(client.segments.list(job, {SegmentState.DONE}))
    if not finished:
        raise RhapsodeError(f"no segment of {job} is finished")
    folder.mkdir(exist_ok=True)
    num_saved = 0
    for segment in finished:
        path = folder / plain_name(f"{segment.id}-take-{segment.take}.wav")
        is_new = is_forced or not path.exists()
        if is_new:
            save_take(path, client.segments.audio(job, segment, segment.take))
            num_saved += 1
        if as_json:
            echo(json.dumps({"path": str(path), "segment": segment.id, "take": segment.take, "fetched": is_new}))
    if as_json:
        return
    here = len(finished) - num_saved
    already = f", {here} were here already" if here else ""
    echo(f"{folder}: {counted(num_saved, 'segment')}{already}")
