"""Upload the recordings of a manifest, a few at a time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from rhapsode.cli.consoles import TimedLines
from rhapsode.client.sync.client import Rhapsode
from rhapsode.client.voices.manifest import ListedVoice
from rhapsode.contract.voices.voices import Voice
from rhapsode.errors import Conflict, InvalidRequest, NotFound

UPLOADS_AT_ONCE = 4
"""The server decodes each recording in a separate process, so more uploads would only wait."""


@dataclass(frozen=True, slots=True)
class Imported:
    """voice: None if `trouble` says why. is_new: false for a voice that existed."""

    listed: ListedVoice
    voice: Voice | None
    is_new: bool = False
    trouble: str = ""


def upload_all(client: Rhapsode, listed: Sequence[ListedVoice], consent: str, console: Console) -> tuple[Imported, ...]:
    """Results in the manifest's order. A failure does not stop the other uploads."""
    with ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:
        futures = [pool.submit(_upload, client, each, consent) for each in listed]
        try:
            _show((future.result() for future in as_completed(futures)), len(futures), console)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return tuple(future.result() for future in futures)


def _upload(client: Rhapsode, listed: ListedVoice, consent: str) -> Imported:
    entry = listed.entry
    try:
        made = client.voices.add(
            entry.name,
            listed.recording,
            consent=entry.consent or consent,
            ref_text=entry.ref_text,
            language=entry.language,
            description=entry.description,
        )
    except Conflict as error:
        return _already_there(client, listed, error)
    except InvalidRequest as error:
        return Imported(listed, None, trouble=error.problem.sentence())
    except OSError as error:
        return Imported(listed, None, trouble=f"{listed.recording}: {error.strerror}")
    return Imported(listed, made, is_new=True)


def _already_there(client: Rhapsode, listed: ListedVoice, error: Conflict) -> Imported:
    """A repeated import finds its voices. Another recording under the name is an error."""
    try:
        found = client.voices.get(listed.entry.name)
    except NotFound:
        return Imported(listed, None, trouble=error.problem.sentence())
    digest = hashlib.sha256(listed.recording.read_bytes()).hexdigest()
    if found.sample is None or found.sample.sha256 != digest:
        return Imported(listed, None, trouble=f"{listed.entry.name!r} is the name of another recording already")
    return Imported(listed, found)


def _show(finished: Iterable[Imported], total: int, console: Console) -> None:
    if console.is_terminal:
        columns = (TextColumn("uploading"), BarColumn(28), MofNCompleteColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("", total=total)
            for _ in finished:
                progress.advance(task)
        return
    lines = TimedLines(console, time.monotonic())
    for count, _ in enumerate(finished, start=1):
        lines.show(f"uploading: {count}/{total} voices")
