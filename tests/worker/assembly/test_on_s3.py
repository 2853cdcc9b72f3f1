"""Files of several parts go to a real S3 server from several threads at once, as they are made."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace

import numpy as np
import soundfile

from rhapsode.contract.jobs.output import AudioFormat, Destination, Output, OutputFormat
from storage.job_store.plan_cache import PlanCache
from storage.objects.s3_store import PART_BYTES, S3ArtifactStore
from tests.worker.assembly.studio import RATE_HZ, Book, assemble, content
from tests.worker.studio import TENANT, Studio


def test_parts_are_uploaded_while_others_are_encoded(studio: Studio, s3_store: S3ArtifactStore) -> None:
    worker = replace(studio.services.worker, artifacts=s3_store, plans=PlanCache(s3_store))
    on_s3 = Studio(replace(studio.services, worker=worker), studio.jobs, s3_store)
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, 60 * RATE_HZ).astype(np.float32)
    formats = (OutputFormat(type=AudioFormat.WAV), OutputFormat(type=AudioFormat.FLAC))
    output = Output(formats=formats, destination=Destination(prefix="books/42/"))

    record = assemble(on_s3, Book([np.roll(noise, number) for number in range(7)], [0.5] * 6 + [0.0]), output)

    wav, flac = content(on_s3, record, "narration.wav"), content(on_s3, record, "narration.flac")
    assert len(wav) > 2 * PART_BYTES
    assert len(flac) > PART_BYTES
    assert [hashlib.sha256(data).hexdigest() for data in (wav, flac)] == [each.sha256 for each in record.artifacts[:2]]
    assert {each.key.rsplit("/", 2)[0] for each in record.artifacts} == {f"delivered/{TENANT}/books/42/{record.id}"}
    heard, _ = soundfile.read(io.BytesIO(wav), dtype="int16")
    again, _ = soundfile.read(io.BytesIO(flac), dtype="int16")
    assert np.array_equal(heard, again)
