"""New ids. They begin with the time, so that ids sort by age."""

from __future__ import annotations

from ulid import ULID

from storage.batches import BATCH_PREFIX
from storage.consents import CONSENT_PREFIX, ConsentId
from storage.jobs import JobId
from storage.pronunciations import DictionaryId
from storage.voice_reference import VoiceId
from storage.webhook_reference import EndpointId


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
