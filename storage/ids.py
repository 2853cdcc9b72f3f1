"""New ids. They begin with the time, so that ids sort by age."""

from __future__ import annotations

import re
from typing import NewType

from ulid import ULID

DICTIONARY_ID = re.compile(r"pd_[0-9a-hjkmnp-tv-z]{26}")

ENDPOINT_ID = re.compile(r"whe_[0-9a-hjkmnp-tv-z]{26}")

UPLOAD_ID = re.compile(r"upl_[0-9a-hjkmnp-tv-z]{26}")

JobId = NewType("JobId", str)

TenantId = NewType("TenantId", str)

DictionaryId = NewType("DictionaryId", str)

WorkQueue = NewType("WorkQueue", str)

ConsentId = NewType("ConsentId", str)

CONSENT_PREFIX = "con_"

UploadId = NewType("UploadId", str)

KeyId = NewType("KeyId", str)

EndpointId = NewType("EndpointId", str)

Target = NewType("Target", str)
"""`e:<endpoint>`, or `h:<tenant>:<digest>` for all URLs that jobs of the tenant name at one host."""


VoiceId = NewType("VoiceId", str)

ContentKey = NewType("ContentKey", str)
"""64 hex digits: everything the bytes of a cache depend on."""


DeliveryId = NewType("DeliveryId", str)
"""`evt_` and 40 hex digits, drawn from event and target: what receivers get as `webhook-id`, on every attempt."""


BATCH_PREFIX = "bat_"

CONSENT_ID = re.compile(r"con_[0-9a-hjkmnp-tv-z]{26}")

VOICE_ID = re.compile(r"voc_[0-9a-hjkmnp-tv-z]{26}")


def new_job_id() -> JobId:
    """`job_` and a lower-case ULID: 48 bits of Unix milliseconds, 80 random bits."""
    return JobId(f"job_{str(ULID()).lower()}")


def new_batch_id() -> JobId:
    """`bat_` and a lower-case ULID."""
    return JobId(f"{BATCH_PREFIX}{str(ULID()).lower()}")


def new_voice_id() -> VoiceId:
    """`voc_` and a lower-case ULID."""
    return VoiceId(f"voc_{str(ULID()).lower()}")


def new_endpoint_id() -> EndpointId:
    """`whe_` and a lower-case ULID."""
    return EndpointId(f"whe_{str(ULID()).lower()}")


def new_consent_id() -> ConsentId:
    """`con_` and a lower-case ULID."""
    return ConsentId(f"{CONSENT_PREFIX}{str(ULID()).lower()}")


def new_dictionary_id() -> DictionaryId:
    """`pd_` and a lower-case ULID."""
    return DictionaryId(f"pd_{str(ULID()).lower()}")
