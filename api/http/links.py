"""Absolute addresses of what the API serves."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from storage.ids import JobId, UploadId, VoiceId

URL_TTL_S = 900


@dataclass(frozen=True, slots=True)
class LinkBuilder:
    """`base` is how this client reaches the API, without a slash at its end."""

    base: str

    def job(self, job: JobId) -> str:
        return f"{self.base}/v1/jobs/{job}"

    def events(self, job: JobId) -> str:
        return f"{self.job(job)}/events"

    def audio(self, job: JobId) -> str:
        return f"{self.job(job)}/audio"

    def cancel(self, job: JobId) -> str:
        return f"{self.job(job)}/cancel"

    def segments(self, job: JobId) -> str:
        return f"{self.job(job)}/segments"

    def segment(self, job: JobId, segment: str) -> str:
        return f"{self.segments(job)}/{segment}"

    def takes(self, job: JobId, segment: str) -> str:
        return f"{self.segment(job, segment)}/takes"

    def segment_audio(self, job: JobId, segment: str, take: int | None = None, attempt: int | None = None) -> str:
        """Of the take in place, unless one is named; or of an attempt that was rejected."""
        chosen = f"?take={take}" if take is not None else f"?attempt={attempt}" if attempt is not None else ""
        return f"{self.segment(job, segment)}/audio{chosen}"

    def artifacts(self, job: JobId) -> str:
        return f"{self.job(job)}/artifacts"

    def artifact(self, job: JobId, name: str) -> str:
        return f"{self.artifacts(job)}/{quote(name, safe='')}"

    def batch(self, batch: JobId) -> str:
        return f"{self.base}/v1/batches/{batch}"

    def upload(self, upload: UploadId) -> str:
        return f"{self.base}/v1/uploads/{upload}"

    def voice(self, voice: VoiceId) -> str:
        return f"{self.base}/v1/voices/{voice}"

    def voice_cache(self, voice: VoiceId) -> str:
        return f"{self.voice(voice)}/cache"

    def voice_sample(self, voice: VoiceId) -> str:
        return f"{self.voice(voice)}/sample"

    def voice_embedding(self, voice: VoiceId) -> str:
        return f"{self.voice(voice)}/embedding"

    def absolute(self, url: str) -> str:
        """A store's link: S3's are whole, the local store's are paths on this API."""
        return f"{self.base}{url}" if url.startswith("/") else url
