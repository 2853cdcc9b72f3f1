"""Every key of the object store, as functions; nothing else spells one. Redis keys are in `storage.database.keys`.

Keys are built only from our own ids and numbers. They contain the fence of the lease under which they were written, so
nothing ever reads what a late writer wrote. Only finished files with a destination have a caller's words in their keys,
as folders above the job's folder. So they never collide with another job's objects.
"""

from __future__ import annotations

from rhapsode.contract.jobs.output import Destination
from storage.ids import ContentKey, DictionaryId, JobId, TenantId, UploadId, VoiceId
from storage.jobs.work_items import Lease
from storage.segments.packs import PackName

JOBS = "jobs/"


def job_prefix(tenant: TenantId, job: JobId) -> str:
    return f"{JOBS}{tenant}/{job}/"


def input_text(tenant: TenantId, job: JobId) -> str:
    return f"{job_prefix(tenant, job)}input.txt"


def speaker_embedding(tenant: TenantId, job: JobId) -> str:
    """The voice that a narration brought along."""
    return f"{job_prefix(tenant, job)}speaker.f32"


def reference_recording(tenant: TenantId, job: JobId) -> str:
    """The recording that a narration, or a live stream, is to speak like."""
    return f"{job_prefix(tenant, job)}reference.audio"


def voice_list(tenant: TenantId, job: JobId) -> str:
    """The voices of a `voice_cache` job."""
    return f"{job_prefix(tenant, job)}voices.jsonl"


def job_dictionary(tenant: TenantId, job: JobId, index: int) -> str:
    """The job's copy of a pronunciation dictionary it names."""
    return f"{job_prefix(tenant, job)}dictionaries/{index}.jsonl"


def cast_lines(tenant: TenantId, job: JobId) -> str:
    """Who says which quotation, as `reading.drafting.lines.encode_lines` writes it."""
    return f"{job_prefix(tenant, job)}lines.json"


def batch_shard(tenant: TenantId, batch: JobId, index: int) -> str:
    """Lines of a batch, as `encode_shard` writes them."""
    return f"{job_prefix(tenant, batch)}shards/{index:06d}.jsonl"


def cover(tenant: TenantId, job: JobId, upload_id: UploadId) -> str:
    """The job's copy of a picture that its caller uploaded."""
    return f"{job_prefix(tenant, job)}covers/{upload_id}"


def plan(lease: Lease) -> str:
    return f"{job_prefix(lease.tenant, lease.job)}plan-{lease.fence}.jsonl"


def plan_text(lease: Lease) -> str:
    """What the plan's offsets refer to, where that is not the input itself."""
    return f"{job_prefix(lease.tenant, lease.job)}plan-{lease.fence}.txt"


def plan_cover(lease: Lease) -> str:
    """The picture that a document brought along, JPEG or PNG."""
    return f"{job_prefix(lease.tenant, lease.job)}plan-{lease.fence}.cover"


def segments_prefix(tenant: TenantId, job: JobId) -> str:
    """The keys of segments that are separate objects."""
    return f"{job_prefix(tenant, job)}segments/"


def segment(tenant: TenantId, job: JobId, index: int, fence: int) -> str:
    return f"{segments_prefix(tenant, job)}{index:06d}-{fence}.safetensors"


def segment_fence(key: str) -> int:
    """The fence of the lease under which a segment was written."""
    return int(key.rpartition("-")[2].partition(".")[0])


def packs_prefix(tenant: TenantId, job: JobId) -> str:
    """Where segments lie that were finished together."""
    return f"{job_prefix(tenant, job)}packs/"


def pack(tenant: TenantId, job: JobId, name: PackName) -> str:
    return f"{packs_prefix(tenant, job)}{name.first:06d}-{name.fence}-{name.last:06d}.pack"


def pack_name(key: str) -> PackName:
    """What a key of `pack` says of it."""
    first, fence, last = key.rpartition("/")[2].removesuffix(".pack").split("-")
    return PackName(int(first), int(fence), int(last))


def rejected_take(tenant: TenantId, job: JobId, index: int, fence: int, attempt: int) -> str:
    """What a segment that failed sounds like."""
    return f"{job_prefix(tenant, job)}rejected/{index:06d}-{fence}-{attempt}.safetensors"


DELIVERED = "delivered/"
"""Finished files of jobs that say where they want them."""


def all_artifacts_prefix(tenant: TenantId, job: JobId, destination: Destination | None = None) -> str:
    if destination is None:
        return f"{job_prefix(tenant, job)}artifacts/"
    return f"{DELIVERED}{tenant}/{destination.prefix}{job}/"


def delivered_for(folder: str) -> tuple[TenantId, JobId]:
    """Whose and which job's files lie in a folder of `all_artifacts_prefix` with a destination."""
    _, tenant, *_, job, _ = folder.split("/")
    return TenantId(tenant), JobId(job)


def artifacts_prefix(lease: Lease, destination: Destination | None = None) -> str:
    return f"{all_artifacts_prefix(lease.tenant, lease.job, destination)}{lease.fence}/"


def artifact_fence(key: str) -> int:
    """The fence of the lease under which an artifact was written."""
    _, _, fence, _ = key.rsplit("/", 3)
    return int(fence)


def artifact(lease: Lease, name: str, destination: Destination | None = None) -> str:
    """`name` is one of ours (narration.wav, codes.safetensors, manifest.json)."""
    return f"{artifacts_prefix(lease, destination)}{name}"


UPLOADS = "uploads/"
"""What callers stored themselves, for a job that takes it up; the janitor removes it after a day."""


def upload(tenant: TenantId, upload_id: UploadId) -> str:
    return f"{UPLOADS}{tenant}/{upload_id}"


def pronunciations_prefix(tenant: TenantId, dictionary: DictionaryId) -> str:
    return f"pronunciations/{tenant}/{dictionary}/"


def pronunciations(tenant: TenantId, dictionary: DictionaryId, upload: str) -> str:
    """The rules of one version; `upload` is an id of ours, as the version's number is given out later."""
    return f"{pronunciations_prefix(tenant, dictionary)}{upload}.jsonl"


def voice_prefix(tenant: TenantId, voice: VoiceId) -> str:
    return f"voices/{tenant}/{voice}/"


def voice_source(tenant: TenantId, voice: VoiceId, upload: str) -> str:
    """`upload` is an id of ours: a voice may get another recording while the old one is still read."""
    return f"{voice_prefix(tenant, voice)}source-{upload}"


def voice_cache(tenant: TenantId, content: ContentKey, fence: int) -> str:
    return f"voice-caches/{tenant}/{content}/{fence}.safetensors"


def state_marks(key_prefix: str) -> str:
    """Where the marks of one system lie; several systems may share a store."""
    return f"state/{key_prefix}/"


def state_mark(key_prefix: str, position: int, state: str) -> str:
    """In the order of their positions."""
    return f"{state_marks(key_prefix)}{position:016d}-{state}"
