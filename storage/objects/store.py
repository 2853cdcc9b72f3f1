"""The object store as the rest of the system sees it: whole objects under keys that are written once.

Two implementations keep the same contract and run the same tests: `local_store` (a folder, one host)
and `s3_store`. Neither knows a format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredObject:
    key: str
    bytes: int
    sha256: str
    """Hex digest of the content, computed while writing."""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """One line of a listing; `modified_at_s` is Unix time."""

    key: str
    bytes: int
    modified_at_s: float


@dataclass(frozen=True, slots=True)
class Download:
    """How a signed URL presents the object to a browser."""

    filename: str
    content_type: str


@dataclass(frozen=True, slots=True)
class UploadLink:
    """Where a client without credentials may PUT one object; every one of `headers` must be sent as it is here."""

    url: str
    headers: Mapping[str, str]


class ArtifactStore(Protocol):
    """Every method raises `StoreUnavailable` when the store does not answer."""

    def put(self, key: str, data: bytes) -> StoredObject:
        """Write a whole object durably; readers see all of it or nothing. `ArtifactExists` if the key is taken."""
        ...

    def put_unread(self, key: str, data: bytes) -> StoredObject:
        """As `put`, of a key that has no other writer, and no reader before this has returned: less may be there
        after a writer was killed. A folder needs one sync for it.
        """
        ...

    def put_together(self, objects: Sequence[tuple[str, bytes]]) -> None:
        """Write objects under keys that have no other writer, and no reader before this has returned: all of them
        durably, or it raises. Parts of an earlier attempt of the same writer are reused if they are complete, and else
        written again. `ArtifactExists` where something longer lies, which is none of that.
        """
        ...

    def put_stream(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """As `put`, in memory bounded by one part, whatever the length."""
        ...

    def copy(self, source: str, key: str) -> None:
        """The object under another key as well, without its bytes passing through here. Raises `ArtifactMissing`."""
        ...

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises `ArtifactMissing`."""
        ...

    def get_range(self, key: str, offset: int, num_bytes: int) -> bytes:
        """A stretch of the object. Raises `ArtifactMissing`, or `ArtifactCorrupt` if the object ends before it does."""
        ...

    def read_stream(self, key: str) -> Iterator[bytes]:
        """The object's bytes in pieces of at most 1 MiB. Raises `ArtifactMissing`."""
        ...

    def stat(self, key: str) -> ObjectEntry | None: ...

    def list(self, prefix: str) -> Iterator[ObjectEntry]:
        """Every object whose key starts with `prefix`, in key order; some servers put folder `a/` before `a-b/`."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; a missing one is not an error."""
        ...

    def delete_prefix(self, prefix: str) -> int:
        """Remove everything under a prefix that ends in '/'; returns how many objects went."""
        ...

    def url(self, key: str, ttl_s: int, download: Download) -> str:
        """A link that works without credentials for `ttl_s` seconds; absolute (S3) or a path on the API (local)."""
        ...

    def upload_url(self, key: str, ttl_s: int, num_bytes: int) -> UploadLink:
        """A link under which exactly `num_bytes` bytes can be stored as `key`; absolute or a path, as `url`."""
        ...

    def check(self) -> None:
        """Raise `StoreUnavailable` if the store cannot be written now."""
        ...

    def sweep_temporary(self, older_than_s: float) -> int:
        """Remove what writers that were killed left behind (never an object); returns how many."""
        ...
