"""Fetches a checkpoint and verifies every file: `fetch_checkpoint.py SOURCE FOLDER SHA256`, before a worker starts.

SOURCE is s3://bucket/prefix or https://host/path; in it lies `SHA256SUMS`, which names every file with its digest, as
`sha256sum` writes it. SHA256 is the digest of that list: who holds the source cannot give others. What is there already
and right stays, so a folder that outlives its pod is read and not fetched again. A file shows under its name when it is
whole and right.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import quote, urlsplit

LIST = "SHA256SUMS"
MAX_LIST_BYTES = 1 << 20
PIECE_BYTES = 4 << 20
TIMEOUT_S = 60.0

_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")

Open = Callable[[str], "AbstractContextManager[Stream]"]
"""A file of the source, by its path in it."""


class Stream(Protocol):
    """What a file is read from."""

    def read(self, size: int, /) -> bytes: ...


class Unfit(Exception):
    """The checkpoint cannot be had as it was asked for; the message says why."""


def fetch(open_file: Open, folder: Path, list_sha256: str) -> Iterator[str]:
    """A line for each file that was fetched. Raises `Unfit`, or what opening raises."""
    for path, sha256 in listed(open_file, list_sha256):
        place = folder / path
        if place.is_file() and digest_of(place) == sha256:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.part")
        found, size = _copy(open_file, path, draft)
        if found != sha256:
            draft.unlink()
            raise Unfit(f"{path} is not the file that {LIST} lists: its sha256 is {found}, not {sha256}")
        draft.replace(place)
        yield f"{path}: {size:,} bytes"


def listed(open_file: Open, list_sha256: str) -> list[tuple[str, str]]:
    """Path and digest of each file. Raises `Unfit`."""
    with open_file(LIST) as stream:
        document = stream.read(MAX_LIST_BYTES + 1)
    found = hashlib.sha256(document).hexdigest()
    if found != list_sha256.lower():
        raise Unfit(f"{LIST} is not the list that was asked for: its sha256 is {found}")
    lines = [_LINE.fullmatch(line) for line in document.decode().splitlines() if line]
    if not lines or not all(lines):
        raise Unfit(f"{LIST} is no list that `sha256sum` writes")
    return [(_plain(line[2]), line[1]) for line in lines if line]


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _plain(path: str) -> str:
    """Below the folder, wherever that is."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\\" in path:
        raise Unfit(f"{LIST} names {path!r}, which leads out of the folder")
    return str(parts)


def _copy(open_file: Open, path: str, draft: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with open_file(path) as stream, draft.open("wb") as file:
        while piece := stream.read(PIECE_BYTES):
            digest.update(piece)
            size += file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), size


def opener(source: str) -> Open:
    """Raises `Unfit`."""
    parts = urlsplit(source)
    if parts.scheme == "s3" and parts.netloc:
        return _bucket(parts.netloc, parts.path.strip("/"))
    if parts.scheme == "https" and parts.netloc:
        base = source.rstrip("/")
        return lambda path: urllib.request.urlopen(f"{base}/{quote(path)}", timeout=TIMEOUT_S)  # noqa: S310 - https
    raise Unfit(f"{source} is neither s3://bucket/prefix nor https://host/path")


def _bucket(bucket: str, prefix: str) -> Open:
    """With the endpoint, region and credentials that the workers have."""
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=os.environ.get("RHAPSODE_S3_ENDPOINT_URL") or None,
        region_name=os.environ.get("RHAPSODE_S3_REGION") or None,
    )
    return lambda path: closing(client.get_object(Bucket=bucket, Key="/".join(filter(None, (prefix, path))))["Body"])


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit("usage: fetch_checkpoint.py SOURCE FOLDER SHA256")
    source, folder, list_sha256 = sys.argv[1:]
    try:
        for line in fetch(opener(source), Path(folder), list_sha256):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - the outermost: a pod's log shows one line
        sys.exit(f"{source}: {error}")
    sys.stdout.write(f"{folder} holds what {source} lists\n")


if __name__ == "__main__":
    main()
