"""Every kind of id: its type, what it looks like, how a new one is made. Most begin with the time, and sort by it.

Types are names for strings: they cost nothing and keep one kind from being passed for another.

Ids that release 0.2 made may end with a suffix (`job_01k…_a`). They are accepted as ever; new ids have none.
"""

from __future__ import annotations

import re
from typing import NewType

from ulid import ULID

from rhapsode.contract.voices.names import VOICE_PREFIX

ULID_CHARS = 26

_ULID = f"[0-9a-hjkmnp-tv-z]{{{ULID_CHARS}}}(?:_[a-z0-9]{{1,8}})?"
"""Crockford's base 32 in lower case: 48 bits of Unix milliseconds, then 80 random bits; and the suffix of old ids."""


# Tenants and their keys.

TenantId = NewType("TenantId", str)

KeyId = NewType("KeyId", str)
KEY_PREFIX = "key_"
KEY_ID = re.compile(KEY_PREFIX + _ULID)


def new_key_id() -> KeyId:
    """`key_` and a lower-case ULID."""
    return KeyId(_new(KEY_PREFIX))


# Jobs, batches, and where their items wait.

JobId = NewType("JobId", str)
"""A job or a batch: both have a record of a job."""

JOB_PREFIX = "job_"
JOB_ID = re.compile(JOB_PREFIX + _ULID)

BATCH_PREFIX = "bat_"
BATCH_ID = re.compile(BATCH_PREFIX + _ULID)

WorkQueue = NewType("WorkQueue", str)


def new_job_id() -> JobId:
    """`job_` and a lower-case ULID."""
    return JobId(_new(JOB_PREFIX))


def new_batch_id() -> JobId:
    """`bat_` and a lower-case ULID."""
    return JobId(_new(BATCH_PREFIX))


def drawn_at_ms(job: JobId) -> int:
    """The Unix time that the id begins with."""
    return ULID.from_str(job[len(JOB_PREFIX) :][:ULID_CHARS].upper()).milliseconds


# Voices and their caches.

VoiceId = NewType("VoiceId", str)
VOICE_ID = re.compile(VOICE_PREFIX + _ULID)

ContentKey = NewType("ContentKey", str)
"""64 hex digits: everything the bytes of a cache depend on."""


def new_voice_id() -> VoiceId:
    """`voc_` and a lower-case ULID."""
    return VoiceId(_new(VOICE_PREFIX))


# What callers store for their jobs.

UploadId = NewType("UploadId", str)
UPLOAD_PREFIX = "upl_"
UPLOAD_ID = re.compile(UPLOAD_PREFIX + _ULID)

DictionaryId = NewType("DictionaryId", str)
DICTIONARY_PREFIX = "pd_"
DICTIONARY_ID = re.compile(DICTIONARY_PREFIX + _ULID)


def new_upload_id() -> UploadId:
    """`upl_` and a lower-case ULID."""
    return UploadId(_new(UPLOAD_PREFIX))


def new_dictionary_id() -> DictionaryId:
    """`pd_` and a lower-case ULID."""
    return DictionaryId(_new(DICTIONARY_PREFIX))


# Webhooks.

EndpointId = NewType("EndpointId", str)
ENDPOINT_PREFIX = "whe_"
ENDPOINT_ID = re.compile(ENDPOINT_PREFIX + _ULID)

Target = NewType("Target", str)
"""`e:<endpoint>`, or `h:<tenant>:<digest>` for all URLs that jobs of the tenant name at one host."""

DeliveryId = NewType("DeliveryId", str)
"""`evt_` and 40 hex digits, drawn from event and target: what receivers get as `webhook-id`, on every attempt."""

DELIVERY_ID = re.compile(r"evt_[0-9a-f]{40}")


def new_endpoint_id() -> EndpointId:
    """`whe_` and a lower-case ULID."""
    return EndpointId(_new(ENDPOINT_PREFIX))


def _new(prefix: str) -> str:
    return f"{prefix}{str(ULID()).lower()}"
