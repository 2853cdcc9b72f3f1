"""A link to a finished file that needs no key: the public contract."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from rhapsode.contract.base import Answer, RequestBody

LONGEST_S = 7 * 24 * 3600
"""As long as a signed link of S3's holds."""


class ShareOrder(RequestBody):
    """How long the link shall hold. It ends with the job, if that is earlier, and cannot be taken back before."""

    expires_in_s: int = Field(default=LONGEST_S, ge=60, le=LONGEST_S)


class SharedLink(Answer):
    """`filename`: what a browser calls the file, by the job's title if it has one."""

    object: Literal["shared_link"] = "shared_link"
    name: str
    filename: str
    url: str
    expires_at: datetime
