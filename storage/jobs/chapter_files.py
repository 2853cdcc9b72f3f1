"""The files of one format that a narration has for its chapters, and the artifact that lists them. Pure.

A book may have a thousand: a job's record has one artifact for all of them, of type `chapters`, and what it lists lies
beside it in the store. So neither Redis nor an answer with a job grows with a book.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from storage.jobs.record import ArtifactRecord

CHAPTERS = "chapters"
"""The type of an artifact that lists files of chapters."""

_FORMAT = 1
_OBJECT = "chapter-"
_MOST_TITLE_BYTES = 120
"""With number and suffix far below the 255 bytes that file systems take, also under a folder's limit on paths."""

_NOT_IN_NAMES = frozenset('/\\:*?"<>|')
_LEAST_DIGITS = 2


@dataclass(frozen=True, slots=True)
class ChapterFile:
    """name: what a person finds it under. object: what its key ends in, below the folder of the list."""

    chapter: int
    title: str
    name: str
    object: str
    bytes: int
    sha256: str
    duration_s: float


ListedFile = tuple[ChapterFile, ArtifactRecord]
"""With the artifact that it is."""


def list_name(form: str) -> str:
    """Of the artifact that lists the files of a format."""
    return f"chapters-{form}.json"


def object_name(chapter: int, form: str) -> str:
    """A caller's words are in no key of the store."""
    return f"{_OBJECT}{chapter:04d}.{form}"


def file_name(chapter: int, num_chapters: int, title: str, form: str) -> str:
    """`01 Loomings.mp3`: sorted as they are read, and whatever a title says, a name on every file system."""
    number = f"{chapter:0{max(_LEAST_DIGITS, len(str(num_chapters)))}d}"
    return f"{number} {_spelt(title)}".rstrip() + f".{form}"


def encode_chapter_files(form: str, files: Sequence[ChapterFile]) -> bytes:
    """A line for each, so that the list is read by eye and by machine."""
    head = json.dumps({"format": _FORMAT, "type": form, "chapters": len(files)})
    rows = ",\n  ".join(json.dumps(asdict(each), ensure_ascii=False) for each in files)
    return f'{head[:-1]}, "files": [\n  {rows}\n]}}\n'.encode()


def decode_chapter_files(data: bytes) -> tuple[ChapterFile, ...]:
    """Reads what `encode_chapter_files` wrote."""
    return tuple(ChapterFile(**each) for each in json.loads(data)["files"])


def is_listed(key: str, listing: ArtifactRecord) -> bool:
    """Whether a key is of one of the files that an artifact lists, as it was made beside them."""
    folder, _, name = key.rpartition("/")
    stem, _, form = name.rpartition(".")
    return listing.key == f"{folder}/{list_name(form)}" and stem.startswith(_OBJECT)


def as_artifact(file: ChapterFile, listing: ArtifactRecord) -> ArtifactRecord:
    """The file as a separate artifact. listing: the artifact that lists it."""
    folder = listing.key.rpartition("/")[0]
    form = file.object.rpartition(".")[2]
    return ArtifactRecord(
        file.name, form, f"{folder}/{file.object}", file.bytes, file.sha256, file.duration_s, listing.speech
    )


def _spelt(title: str) -> str:
    """Without what some file system forbids or a terminal acts upon, and not longer than fits."""
    letters = unicodedata.normalize("NFC", title)
    plain = "".join(" " if each in _NOT_IN_NAMES or unicodedata.category(each)[0] == "C" else each for each in letters)
    words = " ".join(plain.split()).encode()[:_MOST_TITLE_BYTES].decode(errors="ignore")
    return words.rstrip(" .")
