"""A view of a real store whose single operations can be made to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from storage.errors import StoreUnavailable
from storage.objects.store import ArtifactStore, Download, ObjectEntry, StoredObject, UploadLink


class FailingStore:
    """`before_put` and `after_put` see every key and may raise; `puts` are those that arrived, by so many `writes`."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self.puts: list[str] = []
        self.writes = 0
        self.before_put: Callable[[str], object] = lambda _: None
        self.after_put: Callable[[str], object] = lambda _: None

    def put(self, key: str, data: bytes) -> StoredObject:
        self.before_put(key)
        stored = self._store.put(key, data)
        self.puts.append(key)
        self.writes += 1
        self.after_put(key)
        return stored

    def put_unread(self, key: str, data: bytes) -> StoredObject:
        self.before_put(key)
        stored = self._store.put_unread(key, data)
        self.puts.append(key)
        self.writes += 1
        self.after_put(key)
        return stored

    def put_together(self, objects: Sequence[tuple[str, bytes]]) -> None:
        for key, _ in objects:
            self.before_put(key)
        self._store.put_together(objects)
        self.puts += [key for key, _ in objects]
        self.writes += 1
        for key, _ in objects:
            self.after_put(key)

    def put_stream(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        self.before_put(key)
        stored = self._store.put_stream(key, chunks)
        self.puts.append(key)
        self.writes += 1
        self.after_put(key)
        return stored

    def copy(self, source: str, key: str) -> None:
        self._store.copy(source, key)

    def get(self, key: str) -> bytes:
        return self._store.get(key)

    def get_range(self, key: str, offset: int, num_bytes: int) -> bytes:
        return self._store.get_range(key, offset, num_bytes)

    def read_stream(self, key: str) -> Iterator[bytes]:
        return self._store.read_stream(key)

    def stat(self, key: str) -> ObjectEntry | None:
        return self._store.stat(key)

    def list(self, prefix: str) -> Iterator[ObjectEntry]:
        return self._store.list(prefix)

    def delete(self, key: str) -> None:
        self._store.delete(key)

    def delete_prefix(self, prefix: str) -> int:
        return self._store.delete_prefix(prefix)

    def url(self, key: str, ttl_s: int, download: Download) -> str:
        return self._store.url(key, ttl_s, download)

    def upload_url(self, key: str, ttl_s: int, num_bytes: int) -> UploadLink:
        return self._store.upload_url(key, ttl_s, num_bytes)

    def check(self) -> None:
        self._store.check()

    def sweep_temporary(self, older_than_s: float) -> int:
        return self._store.sweep_temporary(older_than_s)


def fail_times(number: int, only: str = "") -> Callable[[str], None]:
    """A hook that reports an outage for the first `number` keys that contain `only`."""
    left = [number]

    def hook(key: str) -> None:
        if only in key and left[0] > 0:
            left[0] -= 1
            raise StoreUnavailable("the store is down")

    return hook
