"""A bucket of a caller's own, which files are put into: one request for each file, signed here, sent as webhooks are.

A file is put as a whole (S3 takes 5 GiB so): there is all of it or nothing, again and again the same, and nothing of
what broke off is left to be cleared away. The server checks the sha256 that was signed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Protocol
from urllib.parse import quote

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from rhapsode.contract.jobs.bucket import Bucket
from storage.ids import JobId, TenantId
from storage.runtime.egress.client import Answer
from storage.runtime.egress.errors import AddressBlocked, Redirected, SafeHttpError, UrlRefused

MAX_FILE_BYTES = 5 * 1024**3
SHA256_HEADER = "x-amz-meta-sha256"

_PASSING = frozenset({408, 409, 425, 429})
_MAX_ANSWER_BYTES = 16 * 1024
_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,64})</Code>")


class BucketRefused(Exception):
    """It does not take the files, and will not as it is; the message says why."""


class BucketUnavailable(Exception):
    """It did not take them now."""


@dataclass(frozen=True, slots=True)
class BucketKeys:
    """The credentials. Their only text form is the one that is sealed."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)

    def encoded(self) -> str:
        return json.dumps(asdict(self))


def decode_bucket_keys(text: str) -> BucketKeys:
    """Of what `BucketKeys.encoded` wrote."""
    return BucketKeys(**json.loads(text))


def bucket_owner(tenant: TenantId, job: JobId) -> str:
    """Whom sealed credentials belong to: those of one job do not open for another."""
    return f"bucket:{tenant}:{job}"


class Sender(Protocol):
    """As `SafeHttp`: every address is checked."""

    def send(
        self, method: str, url: str, pieces: Iterable[bytes], num_bytes: int, headers: dict[str, str], max_bytes: int
    ) -> Answer: ...


@dataclass(frozen=True, slots=True)
class BucketFile:
    """name: what it is called below the prefix."""

    name: str
    bytes: int
    sha256: str
    content_type: str


@dataclass(frozen=True, slots=True)
class CallersBucket:
    """Raises `BucketRefused` or `BucketUnavailable` wherever it is asked for something."""

    bucket: Bucket
    keys: BucketKeys
    http: Sender

    def put(self, file: BucketFile, pieces: Iterable[bytes]) -> None:
        """What is called alike is replaced."""
        if file.bytes > MAX_FILE_BYTES:
            raise BucketRefused(f"{file.name} has {file.bytes:,} bytes, and S3 takes {MAX_FILE_BYTES:,} at once")
        told = {"Content-Type": file.content_type, SHA256_HEADER: file.sha256}
        answer = self._sent("PUT", file.name, told, file.sha256, pieces, file.bytes)
        if not 200 <= answer.status < 300:
            raise _failure(answer)

    def has(self, file: BucketFile) -> bool:
        """Whether it lies there as it is, put by an earlier try."""
        answer = self._sent("HEAD", file.name, {}, _OF_NOTHING, (), 0)
        told = answer.headers.get(SHA256_HEADER), answer.headers.get("content-length")
        return answer.status == 200 and told == (file.sha256, str(file.bytes))

    def _sent(
        self, method: str, name: str, told: dict[str, str], sha256: str, pieces: Iterable[bytes], num_bytes: int
    ) -> Answer:
        path = quote(f"{self.bucket.bucket}/{self.bucket.prefix}{name}", safe="/-_.~")
        url = f"{self.bucket.endpoint.rstrip('/')}/{path}"
        request = AWSRequest(method=method, url=url, headers=told)
        _Signer(self._credentials(), "s3", self.bucket.region, sha256).add_auth(request)
        try:
            return self.http.send(method, url, pieces, num_bytes, dict(request.headers.items()), _MAX_ANSWER_BYTES)
        except (AddressBlocked, Redirected, UrlRefused) as error:
            raise BucketRefused(str(error)) from error
        except SafeHttpError as error:
            raise BucketUnavailable(str(error)) from error

    def _credentials(self) -> Credentials:
        return Credentials(self.keys.access_key_id, self.keys.secret_access_key, self.keys.session_token or None)


class _Signer(S3SigV4Auth):
    """Signs the content by a digest that is known before it is read."""

    def __init__(self, credentials: Credentials, service: str, region: str, sha256: str) -> None:
        super().__init__(credentials, service, region)
        self._sha256 = sha256

    def payload(self, request: AWSRequest) -> str:
        return self._sha256


_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def _failure(answer: Answer) -> Exception:
    """Of the server's words only its code is told on."""
    found = _CODE.search(answer.body)
    told = f"{answer.status} {found[1].decode()}" if found else str(answer.status)
    if answer.status >= 500 or answer.status in _PASSING:
        return BucketUnavailable(f"the bucket's server answered {told}")
    return BucketRefused(f"the bucket's server answered {told}")
