"""Workers that die while they build voices: every voice still becomes ready, and nothing half-done is served."""

from __future__ import annotations

from pathlib import Path

from rhapsode import Rhapsode
from rhapsode.client.voices.orders import BulkOrder
from rhapsode.stack.events import ProcessEnded, StackEvent
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import clean_environment
from tests.worker.voices.reference_audio.sounds import file_of, tone

NUM_VOICES = 6


def test_workers_killed_between_storing_a_voice_and_saying_so_cost_nothing_but_time(
    tmp_path: Path, data_dir: Path
) -> None:
    events: list[StackEvent] = []
    # Every worker dies over its third voice. The usual four attempts would do if none of the six were unlucky.
    environment = clean_environment(RHAPSODE_FAILPOINT="voice.after_put:kill:3", RHAPSODE_MAX_ATTEMPTS="12")
    with Stack(StackOptions(data_dir), environment, events.append) as stack, Rhapsode(stack.url) as client:
        stack.wait_ready()
        for n in range(NUM_VOICES):
            recording = tmp_path / f"{n}.wav"
            recording.write_bytes(file_of(tone(1.1 + n / 10)))
            client.voices.add(f"Voice {n}", recording, consent="We agree.", ref_text="Hello there.")

        job = client.wait(client.voices.prepare_many(BulkOrder()), timeout_s=120)

        assert job.state == "succeeded", job.error
        assert any(isinstance(event, ProcessEnded) for event in events)
        ready = list(client.voices.list_caches({"ready"}))
        assert len(ready) == NUM_VOICES
        assert all(client.voices.embedding(cache.voice) for cache in ready)
