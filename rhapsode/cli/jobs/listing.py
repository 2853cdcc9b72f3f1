"""Jobs as a list: two lines each on a terminal, otherwise one line with tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rhapsode.cli.formatting import clock
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.contract.batches import Batch

MOST_TITLE_BYTES = 80
"""Of a file's name, which may have 255 bytes."""


def print_jobs(jobs: list[Job]) -> None:
    """One or more."""
    from rhapsode.cli.consoles import VisibleConsole

    console = VisibleConsole()
    if not console.is_terminal:
        for job in jobs:
            echo("\t".join(_fields(job)))
        return
    echo(_heading(len(jobs[0].id)))
    for job in jobs:
        _print_two_lines(job, console.width)


def file_title(job: Job) -> str:
    """The start of a file's name: the title, else the first words, else the id."""
    shown = _shown(job.title) or _shown(_first_words(job)) or job.id
    plain = "".join(" " if each in '/\\:*?"<>|' else each for each in shown).strip(" .")
    return plain.encode()[:MOST_TITLE_BYTES].decode(errors="ignore").strip() or job.id


def share(job: Job) -> str:
    segments = job.progress.segments
    return f"{segments.done}/{segments.total}" if segments.total else "-"


def when(made: Job | Batch) -> str:
    return f"{made.created_at.astimezone():%Y-%m-%d %H:%M:%S}"


def _fields(job: Job) -> tuple[str, ...]:
    facts = (job.id, str(job.state), share(job), clock(job.progress.audio_s_done), when(job))
    return (*facts, _shown(_voice(job)), _shown(job.title), _shown(_first_words(job)))


def _heading(id_width: int) -> str:
    """The headings of both lines."""
    first = f"{'job':<{id_width}}  {'state':<10}  {'segments':>9}  {'spoken':>8}  created"
    return f"{first}\n    title: first words  (voice)"


def _print_two_lines(job: Job, width: int) -> None:
    """The first line has the whole id, so that it can be copied. The second line may be cut."""
    from rich.cells import cell_len, set_cell_size

    created = f"{job.created_at.astimezone():%b %d %H:%M}"
    spoken = clock(job.progress.audio_s_done)
    echo(f"{job.id}  {job.state:<10}  {share(job):>9}  {spoken:>8}  {created}")
    known_by = "    " + ": ".join(filter(None, (_shown(job.title), _shown(_first_words(job)))))
    voice = f"  ({_shown(_voice(job))})" if _voice(job) else ""
    room = max(16, width - cell_len(voice))
    cut = known_by if cell_len(known_by) <= room else f"{set_cell_size(known_by, room - 1).rstrip()}…"
    if (cut + voice).strip():
        echo(cut + voice)


def _voice(job: Job) -> str:
    from rhapsode.contract.jobs.answer import ShownVoiceCaches
    from rhapsode.contract.jobs.narration import ShownNarration

    match job.request:
        case ShownNarration() as request:
            return request.voice
        case ShownVoiceCaches() as request:
            return f"{request.voices} voices prepared"


def _first_words(job: Job) -> str:
    from rhapsode.contract.jobs.narration import ShownNarration

    return job.request.input.first_words if isinstance(job.request, ShownNarration) else ""


def _shown(text: str) -> str:
    """Text without control characters and tabs."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
