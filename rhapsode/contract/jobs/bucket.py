"""A bucket of the caller's own, to which the finished files of a job are sent: the public contract."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import RequestBody, formed
from rhapsode.contract.speakable_text import check_label

_WORD = re.compile("[!-~]+")
_ENDPOINT = re.compile(r"https?://[A-Za-z0-9._:\[\]-]+/?")
_REGION = re.compile("[a-z0-9-]{1,40}")
_BUCKET_NAME = re.compile("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_FOLDERS = re.compile("([A-Za-z0-9_][A-Za-z0-9_.=-]{0,498}/)*")

Secret = Annotated[
    str,
    *formed(_WORD, "one word of letters, digits and signs of ASCII", max_length=4_096),
    AfterValidator(check_label),
]


def _is_address(text: str) -> str:
    """The signature is made of its host and port, which have to be some."""
    try:
        is_one = urlsplit(text).port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise PydanticCustomError("string_pattern_mismatch", "must be https:// and a host, with a port up to 65535")
    return text


Endpoint = Annotated[
    str,
    *formed(
        _ENDPOINT,
        "https:// and a host, such as https://s3.eu-central-1.amazonaws.com",
        max_length=500,
    ),
    AfterValidator(_is_address),
]
Region = Annotated[str, *formed(_REGION, "a region such as eu-central-1")]
BucketName = Annotated[
    str,
    *formed(_BUCKET_NAME, "the name of a bucket: 3 to 63 lower-case letters, digits, `-` and `.`"),
]
Prefix = Annotated[str, *formed(_FOLDERS, "folders with a slash behind each, such as books/42/", max_length=500)]


class Bucket(RequestBody):
    """An S3 bucket of yours. The finished files are put there under `prefix`, called as they are, before the job has
    succeeded; the service keeps its own as ever.

    Credentials may be limited to `s3:PutObject` and `s3:GetObject` below the prefix. They are tried when the job is
    submitted, kept sealed, and in no answer. Addresses are refused as those of webhooks are.
    """

    endpoint: Endpoint = Field(
        description="of the S3 server, such as https://s3.eu-central-1.amazonaws.com; the bucket is put behind it",
    )
    region: Region = Field(default="us-east-1", description="for which requests are signed")
    bucket: BucketName = Field(description="its name")
    prefix: Prefix = Field(default="", description="folders, with a slash behind each: books/42/")
    access_key_id: Secret | None = Field(
        default=None, exclude=True, repr=False, description="required, and not told again"
    )
    secret_access_key: Secret | None = Field(
        default=None, exclude=True, repr=False, description="required, and not told again"
    )
    session_token: Secret | None = Field(
        default=None, exclude=True, repr=False, description="of credentials that are given for a time"
    )
