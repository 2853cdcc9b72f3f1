"""The caller's own bucket: its credentials are sealed, and it is tried before the job is accepted."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from api.http.problems.problem import Problem, Violation, backlog_full, invalid_field
from api.services.container import ApiServices
from rhapsode.contract.jobs.bucket import Bucket
from storage.ids import JobId, TenantId
from storage.jobs.delivery_marker import MARKER_NAME, accepted_marker
from storage.narration.spec import NarrationSpec
from storage.objects.callers_bucket import (
    BucketFile,
    BucketKeys,
    BucketRefused,
    BucketUnavailable,
    CallersBucket,
    bucket_owner,
)
from storage.webhooks.http import TOTAL_S

_POINTER = "/output/bucket"
_SECRETS = ("access_key_id", "secret_access_key", "session_token")


def with_sealed_bucket(services: ApiServices, tenant: TenantId, job: JobId, spec: NarrationSpec) -> NarrationSpec:
    """The spec with the credentials of its bucket as nobody can read them, and without them as they came.

    Raises a `Problem`.
    """
    output = spec.request.output
    if output.bucket is None:
        return spec
    sealed = services.webhooks.seal_given(_keys(output.bucket).encoded(), bucket_owner(tenant, job))
    bare = output.bucket.model_copy(update=dict.fromkeys(_SECRETS))
    asked = spec.asking(output=output.model_copy(update={"bucket": bare}))
    return replace(asked, bucket_secret=sealed)


def try_bucket(services: ApiServices, job: JobId, bucket: Bucket | None) -> None:
    """Put a small file there, which says that the job was accepted. Raises a `Problem` for a bucket that takes none."""
    if bucket is None:
        return
    marker = accepted_marker(job)
    file = BucketFile(MARKER_NAME, len(marker), hashlib.sha256(marker).hexdigest(), "application/json")
    if not services.bucket_trials.acquire(blocking=False):
        raise backlog_full("as many buckets as may be are being tried", TOTAL_S)
    try:
        CallersBucket(bucket, _keys(bucket), services.buckets).put(file, [marker])
    except (BucketRefused, BucketUnavailable) as error:
        detail = f"a first file could not be put there: {error}"
        fault = Violation("bucket_unusable", detail, pointer=_POINTER)
        raise Problem(422, "bucket_unusable", "The bucket cannot be used", detail, (fault,)) from error
    finally:
        services.bucket_trials.release()


def _keys(bucket: Bucket) -> BucketKeys:
    """Raises a `Problem`."""
    if bucket.access_key_id is None or bucket.secret_access_key is None:
        missing = "access_key_id" if bucket.access_key_id is None else "secret_access_key"
        raise invalid_field(f"{_POINTER}/{missing}", "missing", "a bucket needs credentials")
    return BucketKeys(bucket.access_key_id, bucket.secret_access_key, bucket.session_token or "")
