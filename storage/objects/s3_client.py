"""The clients of an S3 server: boto3 for every call, obstore for the frequent ones at a fifth of the CPU."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import S3Store

from storage.objects.patience import FOR_WORK, StoreTimeouts
from storage.runtime.config.tls import SYSTEM_TRUST, TlsFiles

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from obstore.store import ClientConfig

NO_REGION = "https://s3.amazonaws.com"
"""boto3's address of us-east-1, also where no region is set. AWS redirects from there to the bucket's region."""

RETRY_AFTER = timedelta(seconds=0.3)
RETRY_AFTER_MOST = timedelta(seconds=1)


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


def connect_objects(
    client: S3Client,
    bucket: str,
    access_key: str | None = None,
    secret_key: str | None = None,
    region: str | None = None,
    tls: TlsFiles = SYSTEM_TRUST,
    patience: StoreTimeouts = FOR_WORK,
) -> S3Store | None:
    """A client of one bucket of the server that `client` asks, with the same credentials.

    None where boto3 has to make all calls: obstore 0.12 shows no certificate and follows no redirection to another
    region, and without credentials boto3 says which are missing.
    """
    session = boto3.session.Session(access_key, secret_key, region_name=region)
    endpoint = client.meta.endpoint_url
    is_redirected = endpoint == NO_REGION and not session.region_name
    if tls.certificate is not None or is_redirected or session.get_credentials() is None:
        return None
    # As boto3 does it: a host for each bucket at AWS, whose certificates cover no bucket with a dot.
    has_host = endpoint.endswith((".amazonaws.com", ".amazonaws.com.cn")) and "." not in bucket
    options: ClientConfig = {
        "allow_http": True,
        "connect_timeout": timedelta(seconds=patience.connect_s),
        "read_timeout": timedelta(seconds=patience.read_s),
        # Of a whole call. Reading has a limit by its bytes, and what is written here is short.
        "timeout": timedelta(hours=1),
    }
    if tls.ca is not None:
        options["root_certificate"] = tls.ca.read_bytes()
    return S3Store(
        bucket,
        endpoint=endpoint.replace("://", f"://{bucket}.", 1) if has_host else endpoint,
        region=client.meta.region_name,
        virtual_hosted_style_request=has_host,
        credential_provider=Boto3CredentialProvider(session),
        client_options=options,
        retry_config={
            "max_retries": patience.tries - 1,
            "backoff": {"init_backoff": RETRY_AFTER, "max_backoff": RETRY_AFTER_MOST, "base": 2},
        },
    )
