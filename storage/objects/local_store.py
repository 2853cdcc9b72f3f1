"""The object store as a folder: one host, or one shared POSIX file system with hard links.

An object is written to `tmp/`, synced and then linked to its name, which fails if the name is taken. So a reader sees
the whole object or nothing, and one of two writers wins. Objects with one writer and no reader yet are written in
place. Each part of a path is opened without following links, so nothing in the folder can lead out of it.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import hmac
import json
import os
import stat
import time
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from storage.errors import ArtifactCorrupt, ArtifactError, ArtifactExists, ArtifactMissing, StoreFull, StoreUnavailable
from storage.objects.key_rules import check_folder, check_key, check_prefix, check_ttl
from storage.objects.store import Download, ObjectEntry, StoredObject, UploadLink
from storage.runtime.observability.metrics import ARTIFACT_WRITTEN, store_call

OBJECTS_ROUTE = "/v1/objects/"
PIECE_BYTES = 1024 * 1024
DEFAULT_MIN_FREE_BYTES = 256 * 1024 * 1024

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_WRITTEN = ARTIFACT_WRITTEN.labels("folder")

ROOM_FOR_WORK = 16 * 1024 * 1024
"""A store is full for `check` before small objects are refused: segments are stored many together, in some MiB."""

_Written = tuple[str, int, int]
"""A file that is written and not synced: its name, and the descriptors of its folder and of itself."""

_LINK_TRIES = 100
"""A folder may be pruned between the moment a writer finds it and the moment it links into it."""


class LinkRefused(ArtifactError):
    """The link is not one of ours, was changed, or is over."""


@dataclass(frozen=True, slots=True)
class SignedObject:
    """What a valid link leads to. content: of an object that is no longer than was asked for."""

    path: Path
    filename: str
    content_type: str
    status: os.stat_result
    content: bytes | None


class LocalArtifactStore:
    """Implements `ArtifactStore`. Safe to share between threads and processes.

    root: created if missing, mode 0700; objects lie under `objects/`, unfinished ones under `tmp/`.
    url_secret: key of the links' signatures; every process that makes or serves links has the same.
    min_free_bytes: writing below so much free space is refused, while the file system still works for others.
    """

    def __init__(self, root: Path, url_secret: bytes, min_free_bytes: int = DEFAULT_MIN_FREE_BYTES) -> None:
        if len(url_secret) < 16:
            raise ValueError("the secret that signs links has fewer than 16 bytes")
        self._objects = root.absolute() / "objects"
        self._temporary = root.absolute() / "tmp"
        self._url_secret = url_secret
        self._min_free_bytes = min_free_bytes
        with _os_errors_named(str(root)):
            # Here and nowhere else: a file system that was unmounted must not come back as an empty folder.
            for folder in (self._objects, self._temporary):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @store_call("put", "folder")
    def put(self, key: str, data: bytes) -> StoredObject:
        return self.put_stream(key, (data,))

    @store_call("put", "folder")
    def put_unread(self, key: str, data: bytes) -> StoredObject:
        check_key(key)
        with _os_errors_named(key):
            self._refuse_when_full(len(data))
            self._create_all([(key, data)], reuses=False)
        _WRITTEN.inc(len(data))
        return StoredObject(key, len(data), hashlib.sha256(data).hexdigest())

    @store_call("put", "folder")
    def put_together(self, objects: Sequence[tuple[str, bytes]]) -> None:
        for key, _ in objects:
            check_key(key)
        num_bytes = sum(len(data) for _, data in objects)
        with _os_errors_named(objects[0][0]):
            self._refuse_when_full(num_bytes)
            self._create_all(objects, reuses=True)
        _WRITTEN.inc(num_bytes)

    def put_stream(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        check_key(key)
        draft = self._temporary / uuid.uuid4().hex
        try:
            stored = self._write(draft, key, chunks)
            with _os_errors_named(key):
                self._link(draft, key)
        finally:
            with _os_errors_named(key):
                draft.unlink(missing_ok=True)
        _WRITTEN.inc(stored.bytes)
        return stored

    @store_call("copy", "folder")
    def copy(self, source: str, key: str) -> None:
        check_key(key)
        with _os_errors_named(key):
            os.close(self._open(source))
            self._link(self._objects / source, key)

    @store_call("get", "folder")
    def get(self, key: str) -> bytes:
        with _os_errors_named(key), open(self._open(key), "rb") as file:
            return file.read()

    @store_call("get", "folder")
    def get_range(self, key: str, offset: int, num_bytes: int) -> bytes:
        with _os_errors_named(key), open(self._open(key), "rb") as file:
            file.seek(offset)
            data = file.read(num_bytes)
        if len(data) < num_bytes:
            raise ArtifactCorrupt(f"{key} has {len(data)} of the {num_bytes} bytes at {offset}")
        return data

    def read_stream(self, key: str) -> Iterator[bytes]:
        if self.stat(key) is None:
            raise ArtifactMissing(key)
        return self._pieces(key)

    @store_call("stat", "folder")
    def stat(self, key: str) -> ObjectEntry | None:
        with _os_errors_named(key):
            try:
                descriptor = self._open(key)
            except ArtifactMissing:
                return None
            try:
                status = os.fstat(descriptor)
            finally:
                os.close(descriptor)
        return ObjectEntry(key, status.st_size, status.st_mtime)

    def list(self, prefix: str) -> Iterator[ObjectEntry]:
        return self._listing(check_prefix(prefix))

    @store_call("delete", "folder")
    def delete(self, key: str) -> None:
        check_key(key)
        with _os_errors_named(key):
            with suppress(FileNotFoundError, NotADirectoryError), self._folder(key) as (folder, name):
                os.unlink(name, dir_fd=folder)
            self._prune(key)

    @store_call("delete_prefix", "folder")
    def delete_prefix(self, prefix: str) -> int:
        check_folder(prefix)
        number = 0
        with _os_errors_named(prefix):
            for entry in self._walk("", prefix):
                with suppress(FileNotFoundError), self._folder(entry.key) as (folder, name):
                    os.unlink(name, dir_fd=folder)
                    number += 1
            for folder_path, _, _ in os.walk(self._objects / prefix, topdown=False):
                _remove_if_empty(Path(folder_path))
            self._prune(prefix.rstrip("/"))
        return number

    def url(self, key: str, ttl_s: int, download: Download) -> str:
        return self._signed("GET", key, ttl_s, {"filename": download.filename, "type": download.content_type})

    def verify(self, key: str, query: Mapping[str, str], now_s: float, most_bytes: int = -1) -> SignedObject:
        """Where the object of a link lies, and what it holds if that is no more than `most_bytes`.

        Raises `LinkRefused`, `ArtifactMissing`.
        """
        filename, content_type = self._verified("GET", key, query, now_s, ("filename", "type"))
        status, content = self._looked_into(key, most_bytes)
        return SignedObject(self._objects / key, filename, content_type, status, content)

    def upload_url(self, key: str, ttl_s: int, num_bytes: int) -> UploadLink:
        size = str(num_bytes)
        return UploadLink(self._signed("PUT", key, ttl_s, {"bytes": size}), {"Content-Length": size})

    def verify_upload(self, key: str, query: Mapping[str, str], now_s: float) -> int:
        """How many bytes this link may store as `key`. Raises `LinkRefused`."""
        (size,) = self._verified("PUT", key, query, now_s, ("bytes",))
        return int(size)

    def check(self) -> None:
        with _os_errors_named("the store"):
            self._refuse_when_full(ROOM_FOR_WORK)
            draft = self._temporary / uuid.uuid4().hex
            os.close(os.open(draft, _CREATE, 0o600))
            draft.unlink()
            self._objects.stat()

    def sweep_temporary(self, older_than_s: float) -> int:
        """Remove what writers that were killed left behind; returns how many. A writer at work keeps its file young."""
        number = 0
        with _os_errors_named("tmp"), os.scandir(self._temporary) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > older_than_s:
                        os.unlink(entry.path)
                        number += 1
        return number

    def _write(self, draft: Path, key: str, chunks: Iterable[bytes]) -> StoredObject:
        digest = hashlib.sha256()
        size = 0
        with _os_errors_named(key):
            descriptor = os.open(draft, _CREATE, 0o600)
        with open(descriptor, "wb", buffering=0) as file:
            # Errors of the chunks' iterator belong to the caller and keep their type.
            for chunk in chunks:
                with _os_errors_named(key):
                    self._refuse_when_full(len(chunk))
                    _write_all(file.fileno(), chunk)
                digest.update(chunk)
                size += len(chunk)
            with _os_errors_named(key):
                os.fsync(file.fileno())
        return StoredObject(key, size, digest.hexdigest())

    def _link(self, draft: Path, key: str) -> None:
        """Give the finished file its name, durably, making the folders on the way."""
        name = key.rpartition("/")[2]
        for _ in range(_LINK_TRIES):
            with suppress(FileNotFoundError), ExitStack() as opened:
                folder, changed = self._made_folder(key, opened)
                try:
                    os.link(draft, name, dst_dir_fd=folder)
                except FileExistsError:
                    raise ArtifactExists(key) from None
                # After the link, which is what keeps the folders from being pruned. A folder that another writer has
                # just made is not synced here. File systems with a journal commit it with its first entry. Syncing
                # every folder on the way made a put 1.8 times as slow.
                for descriptor in (folder, *changed):
                    os.fsync(descriptor)
                return
            if not draft.exists():
                break
        raise StoreUnavailable(f"{key} could not be linked: its draft or its folder is removed again and again")

    def _create_all(self, objects: Sequence[tuple[str, bytes]], *, reuses: bool) -> None:
        """Write files under their names, and sync them when all are written: the first sync commits the making of all,
        and the others have little left to do. A file system with a journal commits new files and their folders no later
        than the content, for all waiting writers together.

        reuses: whether what an earlier try has left may be there.
        """
        with ExitStack() as opened:
            folders: dict[str, int] = {}
            written: list[_Written] = []
            try:
                for key, data in objects:
                    written.append(self._write_own(key, data, folders, opened, reuses=reuses))
                for _, _, descriptor in written:
                    os.fsync(descriptor)
            except OSError:
                # A file that was not synced may have any content, even if its length is right.
                for name, folder, _ in written:
                    with suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=folder)
                raise

    def _write_own(
        self, key: str, data: bytes, folders: dict[str, int], opened: ExitStack, *, reuses: bool
    ) -> _Written:
        """The file with its content, open as long as `opened` and not synced. folders: those that are open already."""
        path, _, name = key.rpartition("/")
        for _ in range(_LINK_TRIES):
            try:
                if path not in folders:
                    folders[path], _ = self._made_folder(key, opened)
                descriptor = os.open(name, _CREATE, 0o600, dir_fd=folders[path])
            except FileNotFoundError:
                # Pruned, which no folder is that has a file.
                folders.pop(path, None)
                continue
            except FileExistsError:
                if not reuses:
                    raise ArtifactExists(key) from None
                left = _left_by_an_earlier_try(key, folders[path], len(data), opened)
                if left is not None:
                    return left
                continue
            opened.callback(os.close, descriptor)
            try:
                _write_all(descriptor, data)
            except OSError:
                os.unlink(name, dir_fd=folders[path])
                raise
            return name, folders[path], descriptor
        raise StoreUnavailable(f"{key} could not be made: its folder is removed again and again")

    @contextmanager
    def _folder(self, key: str) -> Generator[tuple[int, str]]:
        """The open folder of an existing object, and the object's name in it."""
        *folders, name = key.split("/")
        descriptor = os.open(self._objects, _FOLDER)
        try:
            for part in folders:
                descriptor = _stepped(descriptor, part)
            yield descriptor, name
        finally:
            os.close(descriptor)

    def _made_folder(self, key: str, opened: ExitStack) -> tuple[int, Sequence[int]]:
        """The folder of an object to be, made if missing, and the folders above that got a new one.

        Descriptors, open as long as `opened`.
        """
        folder = os.open(self._objects, _FOLDER)
        opened.callback(os.close, folder)
        changed: list[int] = []
        for part in key.split("/")[:-1]:
            try:
                below = _open_folder(part, folder)
            except FileNotFoundError:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
                    changed.append(folder)
                below = _open_folder(part, folder)
            except NotADirectoryError:
                raise ArtifactExists(f"{part} in {key} is an object or a link, not a folder") from None
            opened.callback(os.close, below)
            folder = below
        return folder, changed

    def _open(self, key: str) -> int:
        """A descriptor of the object. Raises `ArtifactMissing`, or `ArtifactCorrupt` if it is no regular file."""
        check_key(key)
        try:
            with self._folder(key) as (folder, name):
                descriptor = os.open(name, _READ, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            # A lost file system is not a lost object.
            self._objects.stat()
            raise ArtifactMissing(key) from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise ArtifactCorrupt(f"{key} is a symbolic link") from None
            raise
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise ArtifactMissing(key)

    @store_call("stat", "folder")
    def _looked_into(self, key: str, most_bytes: int) -> tuple[os.stat_result, bytes | None]:
        """An object's size and time, and all of it if it is no longer than `most_bytes`: opened once for both."""
        with _os_errors_named(key), open(self._open(key), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            return status, file.read() if status.st_size <= most_bytes else None

    def _pieces(self, key: str) -> Iterator[bytes]:
        with _os_errors_named(key), open(self._open(key), "rb", buffering=0) as file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    def _listing(self, prefix: str) -> Iterator[ObjectEntry]:
        with _os_errors_named(prefix):
            yield from self._walk("", prefix)

    def _walk(self, folder: str, prefix: str) -> Iterator[ObjectEntry]:
        """Objects below `folder` ("" or "a/b/") that begin with `prefix`, in key order."""
        try:
            with os.scandir(self._objects / folder) as scan:
                entries = sorted(scan, key=_sort_name)
        except (FileNotFoundError, NotADirectoryError):
            self._objects.stat()
            return
        for entry in entries:
            key = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                below = f"{key}/"
                if below.startswith(prefix) or prefix.startswith(below):
                    yield from self._walk(below, prefix)
            elif key.startswith(prefix) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield ObjectEntry(key, status.st_size, status.st_mtime)

    def _prune(self, key: str) -> None:
        """Remove the folders above `key` that are empty now, and make the removal durable."""
        folder = (self._objects / key).parent
        while folder != self._objects and _remove_if_empty(folder):
            folder = folder.parent
        try:
            descriptor = os.open(folder, _FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            # Another process removed it meanwhile, or it never was a folder. A lost file system is not that.
            self._objects.stat()
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _refuse_when_full(self, wanted_bytes: int) -> None:
        status = os.statvfs(self._temporary)
        free = status.f_bavail * status.f_frsize
        if free - wanted_bytes < self._min_free_bytes:
            raise StoreFull(
                f"the object store is full: {free >> 20} MiB left, {self._min_free_bytes >> 20} MiB must stay free"
            )

    def _signed(self, method: str, key: str, ttl_s: int, said: Mapping[str, str]) -> str:
        """A link that says all of this. Raises `KeyRefused`, or `ValueError` for its time."""
        check_key(key)
        check_ttl(ttl_s)
        expires = str(int(time.time()) + ttl_s)
        signature = self._signature(method, key, expires, *said.values())
        query = {"expires": expires, **said, "signature": signature}
        return f"{OBJECTS_ROUTE}{key}?{urlencode(query, quote_via=quote)}"

    def _verified(
        self, method: str, key: str, query: Mapping[str, str], now_s: float, names: tuple[str, ...]
    ) -> Sequence[str]:
        """What a link of `_signed` says under these names. Raises `LinkRefused`."""
        try:
            signature, expires, *said = (query[name] for name in ("signature", "expires", *names))
        except KeyError as error:
            raise LinkRefused(f"the link has no {error.args[0]}") from None
        if not hmac.compare_digest(signature.encode(), self._signature(method, key, expires, *said).encode()):
            raise LinkRefused("the link's signature does not fit")
        # Behind the signature every value is our own, the number too.
        if now_s >= int(expires):
            raise LinkRefused("the link is over")
        return said

    def _signature(self, *signed: str) -> str:
        """signed: the method, the key and all that the link says."""
        message = json.dumps(signed).encode()
        digest = hmac.new(self._url_secret, message, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _left_by_an_earlier_try(key: str, folder: int, num_bytes: int, opened: ExitStack) -> _Written | None:
    """The file that lies there if it is whole; None once it has been removed, because its writer was killed.

    Raises `ArtifactExists` for what no try of this writer can have left.
    """
    name = key.rpartition("/")[2]
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    opened.callback(os.close, descriptor)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > num_bytes:
        raise ArtifactExists(key)
    if status.st_size == num_bytes:
        return name, folder, descriptor
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    return None


def _open_folder(part: str, folder: int) -> int:
    return os.open(part, _FOLDER, dir_fd=folder)


def _stepped(folder: int, part: str) -> int:
    """One folder down, never over a link; the descriptor given is closed, unless the step fails."""
    below = _open_folder(part, folder)
    os.close(folder)
    return below


def _sort_name(entry: os.DirEntry[str]) -> str:
    # "a-b" comes before "a/c": compared as the keys are, with the slash.
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


def _remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            return False
        raise
    return True


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def _os_errors_named(key: str) -> Generator[None]:
    """Turns an unexpected error of the operating system into `StoreUnavailable`."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreFull("the object store is full") from error
        raise StoreUnavailable(f"the store cannot serve {key}: {error}") from error
