"""A bucket of one's own as options, with its credentials from the environment: what is typed stands in histories."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.failures import Misuse

if TYPE_CHECKING:
    from rhapsode.client.request_options import Bucket

BucketOption = Annotated[
    str | None,
    typer.Option(
        metavar="s3://BUCKET/FOLDERS",
        help="Also send the files there; credentials from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.",
    ),
]
_SCHEME = "s3://"


def bucket(address: str | None, endpoint: str | None, region: str | None) -> Bucket | None:
    """Raises `Misuse`."""
    if address is None:
        if endpoint or region:
            raise Misuse("--bucket-endpoint and --bucket-region are of a --bucket")
        return None
    name, _, folders = address.removeprefix(_SCHEME).partition("/")
    if not address.startswith(_SCHEME) or not name:
        raise Misuse(f"--bucket: {address!r} is not s3://BUCKET or s3://BUCKET/FOLDERS")
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    named: Bucket = {
        "endpoint": endpoint or f"https://s3.{region}.amazonaws.com",
        "region": region,
        "bucket": name,
        "access_key_id": _credential("AWS_ACCESS_KEY_ID"),
        "secret_access_key": _credential("AWS_SECRET_ACCESS_KEY"),
    }
    if folders.strip("/"):
        named["prefix"] = f"{folders.strip('/')}/"
    if token := os.environ.get("AWS_SESSION_TOKEN"):
        named["session_token"] = token
    return named


def _credential(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise Misuse(f"--bucket needs credentials, and {name} is not set")
    return value
