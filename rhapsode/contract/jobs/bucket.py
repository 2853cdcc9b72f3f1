"""A bucket of the caller's own, to which the finished files of a job are sent: the public contract."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from rhapsode.contract.base import RequestBody
from rhapsode.contract.speakable_text import check_label

_FOLDER = "[A-Za-z0-9_][A-Za-z0-9_.=-]*"

Secret = Annotated[str, Field(min_length=1, max_length=4_096, pattern="^[!-~]+$"), AfterValidator(check_label)]


class Bucket(RequestBody):
    """An S3 bucket of yours. The finished files are put there under `prefix`, called as they are, before the job has
    succeeded; the service keeps its own as ever.

    Credentials may be limited to `s3:PutObject` and `s3:GetObject` below the prefix. They are tried when the job is
    submitted, kept sealed, and in no answer. Addresses are refused as those of webhooks are.
    """

    endpoint: str = Field(
        max_length=500,
        pattern="^https?://[A-Za-z0-9._:\\[\\]-]+/?$",
        description="of the S3 server, such as https://s3.eu-central-1.amazonaws.com; the bucket is put behind it",
    )
    region: str = Field(default="us-east-1", pattern="^[a-z0-9-]{1,40}$", description="for which requests are signed")
    bucket: str = Field(pattern="^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", description="its name")
    prefix: str = Field(
        default="",
        max_length=500,
        pattern=f"^({_FOLDER}/)*$",
        description="folders, with a slash behind each: books/42/",
    )
    access_key_id: Secret | None = Field(
        default=None, exclude=True, repr=False, description="required, and not told again"
    )
    secret_access_key: Secret | None = Field(
        default=None, exclude=True, repr=False, description="required, and not told again"
    )
    session_token: Secret | None = Field(
        default=None, exclude=True, repr=False, description="of credentials that are given for a time"
    )
