"""Hear a voice: one sentence, as a job like any other."""

from __future__ import annotations

from api.acceptance import Accepted, find_replay
from api.input_schemas import JobInput
from api.schemas import JobRequest
from api.services import ApiServices
from api.submission import accept_narration
from api.voice_schemas import PreviewOrder
from storage.jobs import TenantId
from storage.submissions import IdempotencyKey
from storage.voices import VoiceRecord

PREVIEW_RETENTION_S = 24 * 3600


def preview(
    services: ApiServices,
    tenant: TenantId,
    record: VoiceRecord,
    order: PreviewOrder,
    idempotency: IdempotencyKey | None,
) -> Accepted:
    """Raises a `Problem` or a `StorageError`, as any submission does."""
    if replayed := find_replay(services, tenant, idempotency):
        return Accepted(replayed, replayed=True)
    request = JobRequest(
        input=JobInput(text=order.text),
        voice=record.id,
        model=order.model,
        language=record.language if order.language is None else order.language,
        x_vector_only=order.x_vector_only,
        seed=order.seed,
        priority="high",
        retention_s=PREVIEW_RETENTION_S,
        metadata={"preview_of": record.id},
    )
    return accept_narration(services, tenant, request, idempotency)
