"""The client of an S3 server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from storage.objects.patience import FOR_WORK, StoreTimeouts
from storage.runtime.config.tls import SYSTEM_TRUST, TlsFiles

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def connect_s3(
    endpoint_url: str | None,
    region: str | None,
    access_key: str | None = None,
    secret_key: str | None = None,
    tls: TlsFiles = SYSTEM_TRUST,
    patience: StoreTimeouts = FOR_WORK,
) -> S3Client:
    """A client with time-outs and retries; credentials not given come from where boto3 looks for them. Close it."""
    ours = (str(tls.certificate), str(tls.key)) if tls.certificate is not None else None
    config = Config(
        client_cert=ours,
        signature_version="s3v4",
        # Servers with a custom address rarely have a DNS name per bucket.
        s3={"addressing_style": "path" if endpoint_url else "auto"},
        retries={"mode": "standard", "total_max_attempts": patience.tries},
        connect_timeout=patience.connect_s,
        read_timeout=patience.read_s,
        max_pool_connections=64,
        tcp_keepalive=True,
    )
    default_region = "us-east-1" if endpoint_url else None
    return boto3.session.Session().client(
        "s3",
        endpoint_url=endpoint_url,
        region_name=region or default_region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        # None: the bundle that boto3 brings, or AWS_CA_BUNDLE.
        verify=str(tls.ca) if tls.ca is not None else None,
        config=config,
    )
