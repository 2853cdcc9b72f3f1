"""The bodies of requests and answers about uploads: the public contract."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from rhapsode.contract.base import Answer, Id, RequestBody


class UploadOrder(RequestBody):
    """`bytes`: how long the file is, exactly."""

    bytes: Annotated[int, Field(ge=1)]


class Upload(Answer):
    """A file on its way, or there. `stored_bytes`: null until it is there. It is removed at `expires_at`."""

    id: Id
    object: Literal["upload"] = "upload"
    stored_bytes: int | None
    expires_at: datetime


class NewUpload(Upload):
    """PUT the file to `url` with exactly these `headers`, once, before `url_expires_at`."""

    method: Literal["PUT"] = "PUT"
    url: str
    headers: dict[str, str]
    url_expires_at: datetime
