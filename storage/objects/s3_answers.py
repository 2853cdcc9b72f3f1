"""What an S3 server answers, or fails to answer in time, as errors of ours."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from obstore.exceptions import BaseError
from urllib3.exceptions import HTTPError

from storage.errors import ArtifactMissing, StoreUnavailable

SLOWEST_BYTES_S = 16 * 1024
"""On average. A slower connection cannot keep up with speech."""

PIECE_BYTES = 16 * 1024
"""Read at once. A read returns when it has them all, so a slow one is noticed after so many bytes."""


@contextmanager
def s3_errors_named(key: str) -> Generator[None]:
    """An answer that is no S3 server's (a proxy's page) is one of a store that cannot be used, like none at all."""
    try:
        yield
    except ClientError as error:
        if error_code(error) in {"NoSuchKey", "404", "NotFound"}:
            raise ArtifactMissing(key) from None
        raise StoreUnavailable(f"the store cannot serve {key}: {error}") from error
    except FileNotFoundError as error:
        # obstore's, of any answer 404.
        if "NoSuchBucket" in str(error):
            raise StoreUnavailable(f"the store cannot serve {key}: {said(error)}") from error
        raise ArtifactMissing(key) from None
    except (BotoCoreError, ResponseParserError, HTTPError, BaseError) as error:
        raise StoreUnavailable(f"the store cannot serve {key}: {said(error)}") from error


def said(error: Exception) -> str:
    """An error in its own words. obstore adds the source of its error, of a page's length."""
    return str(error).partition("\n\nDebug source")[0]


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def paced(pieces: Iterator[bytes], grace_s: float) -> Iterator[bytes]:
    """The same pieces. Raises `StoreUnavailable` once `grace_s` more than the bytes may take is over.

    Only waiting for a piece counts: the consumer may be slow.
    """
    num_bytes = 0
    spent_s = 0.0
    while True:
        began_s = time.monotonic()
        piece = next(pieces, b"")
        spent_s += time.monotonic() - began_s
        if not piece:
            return
        num_bytes += len(piece)
        if spent_s > grace_s + num_bytes / SLOWEST_BYTES_S:
            raise StoreUnavailable(f"the store sends too slowly: {num_bytes:,} bytes in {spent_s:.0f} s")
        yield piece
