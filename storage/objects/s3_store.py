"""The object store as an S3 bucket, or what speaks S3 well enough.

Objects are written once with If-None-Match where the server has it; nothing rests on that, because keys carry
the fence of the lease under which they are written. A server that lacks it is asked first instead, which two
writers at the same moment can both survive.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import threading
import time
import uuid
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import obstore
from botocore.exceptions import BotoCoreError, ClientError
from obstore.exceptions import AlreadyExistsError, BaseError

from storage.errors import ArtifactCorrupt, ArtifactExists, ArtifactMissing, StoreUnavailable
from storage.objects.call_places import CallPlaces
from storage.objects.key_rules import check_folder, check_key, check_prefix, check_ttl
from storage.objects.patience import FOR_WORK, StoreTimeouts
from storage.objects.s3_answers import PIECE_BYTES as READ_BYTES
from storage.objects.s3_answers import error_code, paced, s3_errors_named
from storage.objects.store import Download, ObjectEntry, StoredObject, UploadLink
from storage.runtime.observability.metrics import ARTIFACT_WRITTEN, store_call

if TYPE_CHECKING:
    from datetime import datetime

    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, CopySourceTypeDef, MultipartUploadTypeDef
    from obstore import GetOptions
    from obstore.store import S3Store

logger = logging.getLogger(__name__)

T = TypeVar("T")

PART_BYTES = 8 * 1024 * 1024
"""One part is held in memory; 10,000 of them make the largest object, 80 GiB."""

PIECE_BYTES = 1024 * 1024

SHORT_BYTES = 256 * 1024
"""What the buffers on the way take nearly at once. obstore allows the whole of a longer one the time of one read."""

DELETE_BATCH = 1000

PROBES = "probes/"
"""Where start-up and health checks write; no job's key begins like this."""

_WRITTEN = ARTIFACT_WRITTEN.labels("s3")

_IN_THE_WAY = {"PreconditionFailed", "ConditionalRequestConflict", "NoSuchUpload", "412", "409"}

_BEHIND_THE_END = {"InvalidRange", "416"}

_WRITER = "writer"
"""Metadata that tells a writer whether the object in its way is its own, from a try whose answer was lost."""


class S3ArtifactStore:
    """Implements `ArtifactStore` in `bucket` under `prefix` ("" or "a/b"). Safe to share between threads.

    objects: the same bucket, for the frequent calls; None where boto3 makes them, too.
    signer: makes the links, for clients that reach the server by another address than this process does. A signature
        holds for one host, so the address in a link cannot be exchanged afterwards. Sends nothing.
    patience: the client's, which reads and threads have as well.
    """

    def __init__(
        self,
        client: S3Client,
        objects: S3Store | None,
        bucket: str,
        prefix: str,
        signer: S3Client | None = None,
        patience: StoreTimeouts = FOR_WORK,
    ) -> None:
        self._client = client
        self._objects = objects
        self._signer = signer or client
        self._bucket = bucket
        self._root = f"{prefix}/" if prefix else ""
        self._patience_s = patience.read_s
        self._places = CallPlaces(patience.places) if patience.places else None
        self._probing = threading.Lock()
        self._probe_failed_s = 0.0
        self._conditional: bool | None = None

    @property
    def has_conditional_writes(self) -> bool:
        """Whether the server refuses a second write itself; asked once, by trying. Raises `StoreUnavailable`."""
        if self._conditional is None:
            with self._calling("the store"):
                self._conditional = self._probed(time.monotonic())
        return self._conditional

    @store_call("put", "s3")
    def put(self, key: str, data: bytes) -> StoredObject:
        check_key(key)
        writer = uuid.uuid4().hex
        self._refuse_taken(key)
        with self._calling(key), self._own_write_recognised(key, writer):
            if self._objects is not None and len(data) <= SHORT_BYTES:
                mode = "create" if self.has_conditional_writes else "overwrite"
                named = {_WRITER: writer}
                obstore.put(self._objects, self._root + key, data, attributes=named, mode=mode, use_multipart=False)
            else:
                self._put_slowly(key, data, writer)
        _WRITTEN.inc(len(data))
        return StoredObject(key, len(data), hashlib.sha256(data).hexdigest())

    def put_unread(self, key: str, data: bytes) -> StoredObject:
        return self.put(key, data)

    def put_together(self, objects: Sequence[tuple[str, bytes]]) -> None:
        for key, _ in objects:
            check_key(key)
        for key, data in objects:
            try:
                self.put(key, data)
            except ArtifactExists:
                stored = self.stat(key)
                if stored is None or stored.bytes != len(data):
                    raise

    def put_stream(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        check_key(key)
        parts = _parts(chunks)
        first, second = next(parts, b""), next(parts, None)
        if second is None:
            return self.put(key, first)
        return self._put_multipart(key, itertools.chain((first, second), parts))

    @store_call("copy", "s3")
    def copy(self, source: str, key: str) -> None:
        check_key(source)
        check_key(key)
        found: CopySourceTypeDef = {"Bucket": self._bucket, "Key": self._root + source}
        with self._calling(source):
            self._client.copy(found, self._bucket, self._root + key)

    @store_call("get", "s3")
    def get(self, key: str) -> bytes:
        with self._calling(key):
            return b"".join(paced(self._pieces_of(key), self._patience_s))

    @store_call("get", "s3")
    def get_range(self, key: str, offset: int, num_bytes: int) -> bytes:
        with self._calling(key), _ends_early(key, offset):
            pieces = self._pieces_of(key, (offset, offset + num_bytes))
            data = b"".join(paced(pieces, self._patience_s))
        if len(data) != num_bytes:
            raise ArtifactCorrupt(f"{key} has {len(data)} of the {num_bytes} bytes at {offset}")
        return data

    def read_stream(self, key: str) -> Iterator[bytes]:
        with self._calling(key):
            pieces = self._pieces_of(key)
        return _parts(self._stepwise(key, paced(pieces, self._patience_s)), PIECE_BYTES)

    @store_call("stat", "s3")
    def stat(self, key: str) -> ObjectEntry | None:
        check_key(key)
        try:
            with self._calling(key):
                etag, size, modified = self._head(key)
                _checked(etag)
        except ArtifactMissing:
            return None
        return ObjectEntry(key, size, modified.timestamp())

    def list(self, prefix: str) -> Iterator[ObjectEntry]:
        return self._listing(check_prefix(prefix))

    @store_call("delete", "s3")
    def delete(self, key: str) -> None:
        check_key(key)
        with self._calling(key):
            self._client.delete_object(Bucket=self._bucket, Key=self._root + key)

    @store_call("delete_prefix", "s3")
    def delete_prefix(self, prefix: str) -> int:
        check_folder(prefix)
        number = 0
        entries = self._listing(prefix)
        while batch := tuple(itertools.islice(entries, DELETE_BATCH)):
            self._delete_batch(prefix, batch)
            number += len(batch)
        return number

    def url(self, key: str, ttl_s: int, download: Download) -> str:
        check_key(key)
        check_ttl(ttl_s)
        with self._calling(key):
            return self._signer.generate_presigned_url(
                "get_object",
                Params={
                    "Bucket": self._bucket,
                    "Key": self._root + key,
                    "ResponseContentDisposition": _content_disposition(download.filename),
                    "ResponseContentType": download.content_type,
                },
                ExpiresIn=ttl_s,
            )

    def upload_url(self, key: str, ttl_s: int, num_bytes: int) -> UploadLink:
        check_key(key)
        check_ttl(ttl_s)
        parameters: dict[str, str | int] = {"Bucket": self._bucket, "Key": self._root + key, "ContentLength": num_bytes}
        headers = {"Content-Length": str(num_bytes)}
        if self.has_conditional_writes:
            parameters["IfNoneMatch"] = headers["If-None-Match"] = "*"
        with self._calling(key):
            url = self._signer.generate_presigned_url("put_object", Params=parameters, ExpiresIn=ttl_s)
        return UploadLink(url, headers)

    def check(self) -> None:
        name = f"{self._root}{PROBES}check"
        with self._calling("the store"):
            if self._objects is not None:
                obstore.put(self._objects, name, b"", use_multipart=False)
            else:
                self._client.put_object(Bucket=self._bucket, Key=name, Body=b"")

    def sweep_temporary(self, older_than_s: float) -> int:
        number = 0
        untouched_since_s = time.time() - older_than_s
        with self._calling("unfinished uploads"):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(
                Bucket=self._bucket, Prefix=self._root
            )
            for upload in itertools.chain.from_iterable(page.get("Uploads", ()) for page in pages):
                if upload["Initiated"].timestamp() < untouched_since_s and self._has_stopped(upload, untouched_since_s):
                    self._client.abort_multipart_upload(
                        Bucket=self._bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                    )
                    number += 1
        return number

    def _has_stopped(self, upload: MultipartUploadTypeDef, since_s: float) -> bool:
        """Whether an unfinished upload has got no part since then: that of a long book goes on for hours."""
        pages = self._client.get_paginator("list_parts").paginate(
            Bucket=self._bucket,
            Key=upload["Key"],  # pyright: ignore[reportTypedDictNotRequiredAccess]
            UploadId=upload["UploadId"],  # pyright: ignore[reportTypedDictNotRequiredAccess]
        )
        parts = itertools.chain.from_iterable(page.get("Parts", ()) for page in pages)
        return all(part["LastModified"].timestamp() < since_s for part in parts)

    def _put_multipart(self, key: str, parts: Iterable[bytes]) -> StoredObject:
        digest = hashlib.sha256()
        size = 0
        writer = uuid.uuid4().hex
        self._refuse_taken(key)
        with self._upload(key, writer) as upload_id:
            completed: list[CompletedPartTypeDef] = []
            # Errors of the chunks' iterator belong to the caller and keep their type.
            for number, part in enumerate(parts, start=1):
                with self._calling(key):
                    uploaded = self._client.upload_part(
                        Bucket=self._bucket,
                        Key=self._root + key,
                        UploadId=upload_id,
                        PartNumber=number,
                        Body=BytesIO(part),
                    )
                completed.append({"PartNumber": number, "ETag": _checked(uploaded["ETag"])})
                digest.update(part)
                size += len(part)
            with self._calling(key), self._own_write_recognised(key, writer):
                self._complete(key, upload_id, completed)
        _WRITTEN.inc(size)
        return StoredObject(key, size, digest.hexdigest())

    @contextmanager
    def _upload(self, key: str, writer: str) -> Generator[str]:
        """An upload's id; an upload that does not come to its end is taken back, or left to the sweep."""
        with self._calling(key):
            created = self._client.create_multipart_upload(
                Bucket=self._bucket, Key=self._root + key, Metadata={_WRITER: writer}
            )
        try:
            yield created["UploadId"]
        except BaseException:
            try:
                self._client.abort_multipart_upload(
                    Bucket=self._bucket, Key=self._root + key, UploadId=created["UploadId"]
                )
            except (BotoCoreError, ClientError) as error:
                logger.warning("upload not taken back", extra={"key": key, "error": str(error)})
            raise

    def _put_slowly(self, key: str, data: bytes, writer: str) -> None:
        """What is longer is read bit by bit, and each bit may take as long as a read."""
        named, body = {_WRITER: writer}, BytesIO(data)
        send = partial(self._client.put_object, Bucket=self._bucket, Key=self._root + key, Body=body, Metadata=named)
        answer = send(IfNoneMatch="*") if self.has_conditional_writes else send()
        _checked(answer["ETag"])

    def _complete(self, key: str, upload_id: str, completed: Sequence[CompletedPartTypeDef]) -> None:
        end = partial(self._client.complete_multipart_upload, Bucket=self._bucket, Key=self._root + key)
        if self.has_conditional_writes:
            end(UploadId=upload_id, MultipartUpload={"Parts": completed}, IfNoneMatch="*")
        else:
            end(UploadId=upload_id, MultipartUpload={"Parts": completed})

    def _refuse_taken(self, key: str) -> None:
        """Ask first where the server would overwrite."""
        if not self.has_conditional_writes and self.stat(key) is not None:
            raise ArtifactExists(key)

    @contextmanager
    def _own_write_recognised(self, key: str, writer: str) -> Generator[None]:
        """Finish quietly if the object in the way is this very write, whose first answer was lost on its way."""
        try:
            yield
        except (ClientError, AlreadyExistsError) as error:
            if isinstance(error, ClientError) and error_code(error) not in _IN_THE_WAY:
                raise
            found = self._writer_of(key)
            if found == writer:
                return
            if found is None:
                # Two writers met and neither won, or the upload was taken back: worth another try.
                raise
            raise ArtifactExists(key) from None

    def _writer_of(self, key: str) -> str | None:
        """Who wrote the object ("" if it does not say), or None if there is none."""
        try:
            head = self._client.head_object(Bucket=self._bucket, Key=self._root + key)
        except ClientError as error:
            if error_code(error) in {"404", "NoSuchKey", "NotFound"}:
                return None
            raise
        return head["Metadata"].get(_WRITER, "")

    def _probed(self, since_s: float) -> bool:
        """One thread asks; those that wait use its answer, or its failure."""
        with self._probing:
            if self._conditional is not None:
                return self._conditional
            if self._probe_failed_s > since_s:
                raise StoreUnavailable("the store did not answer a question that others had asked")
            try:
                with s3_errors_named("the store"):
                    conditional = self._probe()
            except StoreUnavailable:
                self._probe_failed_s = time.monotonic()
                raise
        if not conditional:
            logger.warning("no conditional writes", extra={"bucket": self._bucket})
        return conditional

    def _probe(self) -> bool:
        """Try to write a name twice."""
        name = f"{self._root}{PROBES}{uuid.uuid4().hex}"
        self._client.put_object(Bucket=self._bucket, Key=name, Body=b"")
        try:
            self._client.put_object(Bucket=self._bucket, Key=name, Body=b"", IfNoneMatch="*")
        except ClientError as error:
            if error_code(error) in {"PreconditionFailed", "412"}:
                return True
            if error_code(error) in {"NotImplemented", "501"}:
                return False
            raise
        finally:
            self._client.delete_object(Bucket=self._bucket, Key=name)
        return False

    @contextmanager
    def _calling(self, key: str) -> Generator[None]:
        """One call of the server, or one step of a long answer."""
        with self._places.place() if self._places else nullcontext(), s3_errors_named(key):
            yield

    def _stepwise(self, key: str, steps: Iterator[T]) -> Iterator[T]:
        """The same steps. It holds no place while the caller uses a step."""
        while True:
            with self._calling(key):
                step = next(steps, None)
            if step is None:
                return
            yield step

    def _head(self, key: str) -> tuple[str | None, int, datetime]:
        if self._objects is not None:
            found = obstore.head(self._objects, self._root + key)
            return found["e_tag"], found["size"], found["last_modified"]
        head = self._client.head_object(Bucket=self._bucket, Key=self._root + key)
        return head.get("ETag"), head["ContentLength"], head["LastModified"]

    def _pieces_of(self, key: str, stretch: tuple[int, int] | None = None) -> Iterator[bytes]:
        """stretch: the first byte and the one behind the last; None for the whole object."""
        check_key(key)
        if self._objects is not None:
            options: GetOptions = {} if stretch is None else {"range": stretch}
            found = obstore.get(self._objects, self._root + key, options=options)
            _checked(found.meta["e_tag"])
            return map(bytes, found.stream(min_chunk_size=READ_BYTES))
        ask = partial(self._client.get_object, Bucket=self._bucket, Key=self._root + key)
        answer = ask() if stretch is None else ask(Range=f"bytes={stretch[0]}-{stretch[1] - 1}")
        _checked(answer.get("ETag"))
        if stretch is not None and "ContentRange" not in answer:
            answer["Body"].close()
            raise StoreUnavailable("the store sends whole objects where a stretch is asked for")
        return _read(answer["Body"])

    def _listing(self, prefix: str) -> Iterator[ObjectEntry]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._root + prefix)
        answers = self._stepwise(prefix, iter(pages))
        for item in itertools.chain.from_iterable(page.get("Contents", ()) for page in answers):
            key = item["Key"].removeprefix(self._root)  # pyright: ignore[reportTypedDictNotRequiredAccess]
            if not key.startswith(PROBES):
                modified = item["LastModified"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
                size = item["Size"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
                yield ObjectEntry(key, size, modified.timestamp())

    def _delete_batch(self, prefix: str, batch: Sequence[ObjectEntry]) -> None:
        with self._calling(prefix):
            answer = self._client.delete_objects(
                Bucket=self._bucket,
                Delete={"Objects": [{"Key": self._root + entry.key} for entry in batch], "Quiet": True},
            )
        if errors := answer.get("Errors"):
            raise StoreUnavailable(f"{len(errors)} objects under {prefix} stay: {errors[0].get('Message')}")


def _checked(etag: str | None) -> str:
    """Raises `StoreUnavailable` for a yes that is no S3 server's, but a proxy's page."""
    if not etag:
        raise StoreUnavailable("what answers in the place of the store is no S3 server")
    return etag


def _read(body: StreamingBody) -> Iterator[bytes]:
    with closing(body):
        yield from iter(lambda: body.read(READ_BYTES), b"")


@contextmanager
def _ends_early(key: str, offset: int) -> Generator[None]:
    """Names what a server says of a stretch that starts after the end."""
    try:
        yield
    except (BaseError, ClientError) as error:
        # obstore gives no code; keys and durations in its text may hold the digits.
        code = error_code(error) if isinstance(error, ClientError) else str(error)
        if code in _BEHIND_THE_END or "416 Range Not Satisfiable" in code:
            raise ArtifactCorrupt(f"{key} ends before byte {offset}") from None
        raise


def _parts(chunks: Iterable[bytes], part_bytes: int = PART_BYTES) -> Iterator[bytes]:
    """The same bytes in parts of this size, the last one shorter."""
    held = bytearray()
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            taken = rest[: part_bytes - len(held)]
            held += taken
            rest = rest[len(taken) :]
            if len(held) == part_bytes:
                yield bytes(held)
                held.clear()
    if held:
        yield bytes(held)


def _content_disposition(filename: str) -> str:
    """RFC 6266: the name in ASCII for old readers, and as it is."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
