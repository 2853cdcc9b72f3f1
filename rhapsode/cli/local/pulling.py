"""A published checkpoint from its hub to this machine.

huggingface_hub asks and moves the bytes: it knows tokens, mirrors (HF_ENDPOINT), proxies, retries and progress. Its
`snapshot_download` begins a file again after an interruption (its issue 4196), and one file here has 3.8 GB. So each
file is fetched by its `http_get`, which continues.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from httpx2 import HTTPError
from huggingface_hub import HfApi, ModelInfo, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import http_get
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import WeakFileLock, build_hf_headers, disable_progress_bars, logging
from huggingface_hub.utils.sha import git_hash

from rhapsode.stack.errors import ModelNotPulled, ModelUnfit
from rhapsode.stack.models import PUBLISHED
from worker.engine.errors import CheckpointError
from worker.engine.model.pulled import FAMILY, RECORD, PulledModel, look_at, read_pulled, write_pulled

PARTS = ".parts"
"""Files under way, by their digests: no other file's part is continued."""

CONFIG = "config.json"

ANSWERS = {
    401: "refuses access (401): HF_TOKEN is wrong, or the repository needs one",
    403: "has it behind terms (403): accept them on its page there, and set HF_TOKEN",
    404: "does not have it (404)",
}


def pull_model(
    name: str, folder: Path, revision: str | None, say: Callable[[str], object], is_wanted: Callable[[], bool]
) -> None:
    """Does nothing more where the folder is whole. It first says revision, licence and size.

    is_wanted: asked before anything is written. Raises `ModelUnfit`; `ModelNotPulled` if it is not wanted.
    """
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
        say(f"{repository} at {info.sha}, licence {licence}")
        say(_require_room(info, folder))
        if not is_wanted():
            raise ModelNotPulled(name)
        is_new = not folder.exists()
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        with WeakFileLock(folder / PARTS / "lock"):
            # Without the record no worker uses the folder until it is whole again.
            (folder / RECORD).unlink(missing_ok=True)
            for file in sorted(info.siblings or (), key=lambda file: file.rfilename != CONFIG):
                _fetch(file, info, folder)
                if file.rfilename == CONFIG and (family := _family(folder / CONFIG)) != FAMILY:
                    (folder / CONFIG).unlink()
                    if is_new:
                        shutil.rmtree(folder)
                    raise ModelUnfit(f"{info.id} is no checkpoint of Qwen3-TTS: its model_type is {family!r}")
            files = {file.rfilename: look_at(folder / file.rfilename) for file in info.siblings or ()}
            made = PulledModel(name=name, repository=repository, revision=str(info.sha), licence=licence, files=files)
            write_pulled(folder, made)
    shutil.rmtree(folder / PARTS)


def _family(config: Path) -> object:
    with suppress(KeyError, TypeError, ValueError):
        return json.loads(config.read_bytes())["model_type"]
    return None


def _fetch(file: RepoSibling, info: ModelInfo, folder: Path) -> None:
    """What is there and right stays. Raises `ModelUnfit`, and what `http_get` does."""
    place, digest = folder / file.rfilename, file.lfs.sha256 if file.lfs else file.blob_id
    if digest is None or not place.resolve().is_relative_to(folder.resolve()):
        raise ModelUnfit(f"{file.rfilename}: the hub lists no digest of it, or it leads out of the folder")
    if place.is_file() and _digest(place, file) == digest:
        return
    part = folder / PARTS / digest
    with part.open("ab") as stream:
        url = hf_hub_url(info.id, file.rfilename, revision=info.sha)
        # Compressed, a file could not be continued.
        headers = build_hf_headers() | {"Accept-Encoding": "identity"}
        begun = stream.tell()
        http_get(
            url, stream, resume_size=begun, headers=headers, expected_size=file.size, displayed_filename=file.rfilename
        )
        stream.flush()
        os.fsync(stream.fileno())
    if _digest(part, file) != digest:
        part.unlink()
        raise ModelUnfit(f"{file.rfilename} has not the digest that the hub lists; run the command again")
    place.parent.mkdir(parents=True, exist_ok=True)
    part.replace(place)


def _digest(path: Path, file: RepoSibling) -> str:
    """As the hub lists it: sha256 of large files, git's own of small ones."""
    return look_at(path).sha256 if file.lfs else git_hash(path.read_bytes())


def _is_whole(pulled: PulledModel, folder: Path) -> bool:
    return not any(pulled.faults(folder))


def _require_room(info: ModelInfo, folder: Path) -> str:
    """What it takes and what is free. Raises `ModelUnfit`. What is there in full or in part need not be fetched."""
    sizes = {folder / each.rfilename: each.size or 0 for each in info.siblings or ()}
    absent = sum(size for file, size in sizes.items() if not file.is_file() or file.stat().st_size != size)
    begun = sum(part.stat().st_size for part in (folder / PARTS).glob("*"))
    wanted = max(0, absent - begun)
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    said = f"{wanted / 1e9:.1f} GB to download, {free / 1e9:.1f} GB free on {existing}"
    if wanted > free:
        raise ModelUnfit(f"not enough room: {said}")
    return said


@contextmanager
def _told_in_one_line(wanted: str, hub: str) -> Generator[None]:
    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise ModelUnfit(f"{wanted}: {hub} {ANSWERS.get(status, f'answers {status}')}") from error
    except (HTTPError, OSError) as error:
        raise ModelUnfit(
            f"{wanted} cannot be fetched from {hub}; run the command again to continue: {error}"
        ) from error
