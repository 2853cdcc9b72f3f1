"""A published checkpoint from its hub to this machine. What moves the bytes is huggingface_hub: it resumes, shows the
progress and knows tokens, mirrors (HF_ENDPOINT) and HF_HUB_OFFLINE. Here is what it leaves open: room, licence, record.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from httpx2 import HTTPError
from huggingface_hub import HfApi, ModelInfo, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from huggingface_hub.utils import disable_progress_bars, logging

from rhapsode.cli.failures import termination_signals
from rhapsode.cli.visible import echo
from rhapsode.stack.errors import ModelUnfit
from rhapsode.stack.models import PUBLISHED
from worker.engine.errors import CheckpointError
from worker.engine.model.pulled import RECORD, PulledModel, read_pulled, write_pulled

ANSWERS = {
    401: "refuses access (401): HF_TOKEN is wrong, or the repository needs one",
    403: "has it behind terms (403): accept them on its page there, and set HF_TOKEN",
    404: "does not have it (404)",
}


def pull_model(name: str, folder: Path, revision: str | None) -> None:
    """Does nothing more where the folder is whole. Raises `ModelUnfit`."""
    pulled = None
    with suppress(CheckpointError):  # a record that cannot be read is as good as none: all files are read below
        pulled = read_pulled(folder)
    # A commit never changes: the hub need not be asked.
    if pulled and pulled.revision == revision and _is_whole(pulled, folder):
        return
    api, repository = HfApi(), PUBLISHED[name]
    logging.set_verbosity_error()
    if not sys.stderr.isatty():
        disable_progress_bars()
    with _told_in_one_line(f"{repository}{f' at {revision}' if revision else ''}", api.endpoint):
        info = api.model_info(repository, revision=revision, files_metadata=True)
        if pulled and pulled.revision == info.sha and _is_whole(pulled, folder):
            return
        licence = str(info.card_data.license) if info.card_data else "unknown"
        echo(f"{repository} at {info.sha}, licence {licence}", err=True)
        _require_room(info, folder)
        # Without the record the folder is used by no worker until it is whole again.
        (folder / RECORD).unlink(missing_ok=True)
        with _ended_by_signals(name):
            snapshot_download(repository, revision=info.sha, local_dir=folder)
        found = api.verify_repo_checksums(repository, revision=info.sha, local_dir=folder)
    for mismatch in found.mismatches:
        (folder / mismatch["path"]).unlink()
    if wrong := [mismatch["path"] for mismatch in found.mismatches] + found.missing_paths:
        raise ModelUnfit(f"{', '.join(wrong)}: not as {api.endpoint} lists it; run the command again")
    write_pulled(folder, name, repository, str(info.sha), licence, [each.rfilename for each in info.siblings or ()])


def _is_whole(pulled: PulledModel, folder: Path) -> bool:
    return not any(pulled.faults(folder))


def _require_room(info: ModelInfo, folder: Path) -> None:
    """Raises `ModelUnfit`. What is there in full or in part need not be fetched."""
    sizes = {folder / each.rfilename: each.size or 0 for each in info.siblings or ()}
    absent = sum(size for file, size in sizes.items() if not file.is_file() or file.stat().st_size != size)
    begun = sum(part.stat().st_size for part in folder.rglob("*.incomplete"))
    wanted = max(0, absent - begun)
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    said = f"{wanted / 1e9:.1f} GB to download, {free / 1e9:.1f} GB free on {existing}"
    if wanted > free:
        raise ModelUnfit(f"not enough room: {said}")
    echo(said, err=True)


@contextmanager
def _told_in_one_line(wanted: str, hub: str) -> Generator[None]:
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise ModelUnfit(f"{wanted} cannot be fetched while HF_HUB_OFFLINE is set") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise ModelUnfit(f"{wanted}: {hub} {ANSWERS.get(status, f'answers {status}')}") from error
    except (HTTPError, LocalEntryNotFoundError) as error:
        raise ModelUnfit(f"{wanted}: {hub} cannot be reached; run the command again to continue ({error})") from error
    except OSError as error:
        raise ModelUnfit(f"{wanted}: {error.strerror or error}; run the command again to continue") from error


@contextmanager
def _ended_by_signals(name: str) -> Generator[None]:
    """At once: huggingface_hub would wait for the files under way, which may be gigabytes."""

    def end(signum: int, frame: FrameType | None) -> NoReturn:
        sys.stderr.write(f"\nrhapsode: interrupted; `rhapsode models pull {name}` continues\n")
        sys.stderr.flush()
        os._exit(128 + signum)

    before = {signum: signal.signal(signum, end) for signum in (signal.SIGINT, *termination_signals())}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
