"""Every kind of id: its type, what it looks like, how a new one is made. Most begin with the time, and sort by it.

Types are names for strings: they cost nothing and keep one kind from being passed for another.

Where there are several cells, an id ends with the name of its own (`job_01k…_a`): behind the time, so that ids of all
cells sort together. Where there is one, it ends with nothing.
"""

from __future__ import annotations

import re
from typing import NewType

from ulid import ULID

from rhapsode.contract.voices.names import VOICE_PREFIX

ULID_CHARS = 26

CELL_NAME = re.compile("[a-z0-9]{1,8}")

_ULID = f"[0-9a-hjkmnp-tv-z]{{{ULID_CHARS}}}(?:_{CELL_NAME.pattern})?"
"""Crockford's base 32 in lower case: 48 bits of Unix milliseconds, then 80 random bits; and the cell, if there are."""

_WITH_CELL = re.compile(f"[a-z]{{2,3}}_[0-9a-hjkmnp-tv-z]{{{ULID_CHARS}}}_({CELL_NAME.pattern})")

_cell_suffix = ""


def carry_cell(cell: str) -> None:
    """From now on new ids of this process end with the name of its cell; with nothing for an empty one."""
    global _cell_suffix
    if cell and not CELL_NAME.fullmatch(cell):
        raise ValueError(f"{cell!r} is not a cell's name: 1 to 8 of a-z 0-9")
    _cell_suffix = f"_{cell}" if cell else ""


def cell_of(some_id: str) -> str | None:
    """The name of the cell that an id of any kind ends with; None if it has none, or is no id."""
    match = _WITH_CELL.fullmatch(some_id)
    return match[1] if match else None


def own_cell_takes(some_id: str) -> bool:
    """Whether an id that a client chose can be of this process's cell: it names it, or none."""
    cell = cell_of(some_id)
    return cell is None or _cell_suffix == f"_{cell}"


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


# Voices, their caches, and the consents they rest on.

VoiceId = NewType("VoiceId", str)
VOICE_ID = re.compile(VOICE_PREFIX + _ULID)

ContentKey = NewType("ContentKey", str)
"""64 hex digits: everything the bytes of a cache depend on."""

ConsentId = NewType("ConsentId", str)
CONSENT_PREFIX = "con_"
CONSENT_ID = re.compile(CONSENT_PREFIX + _ULID)


def new_voice_id() -> VoiceId:
    """`voc_` and a lower-case ULID."""
    return VoiceId(_new(VOICE_PREFIX))


def new_consent_id() -> ConsentId:
    """`con_` and a lower-case ULID."""
    return ConsentId(_new(CONSENT_PREFIX))


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
    return f"{prefix}{str(ULID()).lower()}{_cell_suffix}"
