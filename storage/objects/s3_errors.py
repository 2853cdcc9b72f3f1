"""What boto3 raises, as errors of ours."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from storage.errors import ArtifactMissing, StoreUnavailable


@contextmanager
def s3_errors_named(key: str) -> Generator[None]:
    """An answer that is no S3 server's (a proxy's page) is one of a store that cannot be used, like none at all."""
    try:
        yield
    except ClientError as error:
        if error_code(error) in {"NoSuchKey", "404", "NotFound"}:
            raise ArtifactMissing(key) from None
        raise StoreUnavailable(f"the store cannot serve {key}: {error}") from error
    except (BotoCoreError, ResponseParserError, HTTPError) as error:
        raise StoreUnavailable(f"the store cannot serve {key}: {error}") from error


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
