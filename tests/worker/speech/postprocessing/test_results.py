"""Speech is judged and stored by processes beside the worker, with the same result as in the worker itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rhapsode.contract.jobs.quality import Gate
from storage.errors import ArtifactExists, StoreUnavailable
from storage.ids import TenantId
from storage.objects.key_rules import KeyRefused
from storage.objects.local_store import LocalArtifactStore
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3
from tests.worker.speech.postprocessing.speech_to_finish import (
    BOUNDS,
    HEADER,
    MOON,
    TEXT,
    key,
    moon_twice,
    speech,
    utterance,
)
from worker.speech.audio.samples import NotFinite
from worker.speech.audio.segment_audio import decode_segment
from worker.speech.postprocessing.child import PostProcessorUnusable
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import PackPart, SpeechToStore, StoredSpeech
from worker.speech.postprocessing.pool import PostProcessorPool
from worker.speech.postprocessing.protocol import Call, Raised, answer
from worker.speech.postprocessing.sentence_ends import SentencePauses

SPOKEN = SpeechToStore(HEADER, speech())


@pytest.mark.parametrize("gate", [Gate.OFF, Gate.BASIC])
def test_a_process_judges_as_the_worker_itself_would(
    pool: PostProcessorPool, own: InProcessPostProcessor, gate: Gate
) -> None:
    for text in (TEXT, "Short."):
        there, here = pool.judge(utterance(text), gate, BOUNDS, None), own.judge(utterance(text), gate, BOUNDS, None)

        assert there == here
    silent = replace(utterance(), speech=replace(speech(), pcm=np.zeros(24_000, np.float32)))
    assert pool.judge(silent, Gate.BASIC, BOUNDS, None).flags[0] == "silent"


def test_a_process_stores_the_same_bytes(pool: PostProcessorPool, own: InProcessPostProcessor, folder: Path) -> None:
    there, here = pool.store(key("there"), SPOKEN), own.store(key("here"), SPOKEN)

    assert there == here
    files = [(folder / "objects" / key(name)).read_bytes() for name in ("there", "here")]
    assert files[0] == files[1]
    assert len(files[0]) == there.num_bytes


def test_a_process_holds_the_pauses_that_are_asked_for(
    pool: PostProcessorPool, own: InProcessPostProcessor, folder: Path
) -> None:
    pauses = SentencePauses((MOON, MOON), 0.6)
    there = pool.store(key("paused"), SpeechToStore(HEADER, moon_twice(), pauses))
    here = own.store(key("paused-here"), SpeechToStore(HEADER, moon_twice(), pauses))
    plain = own.store(key("plain"), SpeechToStore(HEADER, moon_twice()))

    assert there == here
    assert there.num_samples - plain.num_samples > 0.4 * HEADER.sample_rate_hz
    header = decode_segment((folder / "objects" / key("paused")).read_bytes()).header
    assert (header.pauses_held, header.pauses_left) == (1, 0)


def test_a_process_stores_in_s3(own: InProcessPostProcessor, weed: EmbeddedS3) -> None:
    where = {"RHAPSODE_STORE": f"s3://{BUCKET}/finishing", "RHAPSODE_S3_ENDPOINT_URL": weed.endpoint_url}
    pool = PostProcessorPool(1, 2, "s3", "test", {**where, **weed.environment})
    pool.start()

    assert pool.store(key("there"), SPOKEN) == own.store(key("beside"), SPOKEN)
    assert pool.store(key("there"), SPOKEN).num_samples
    pool.close()


def test_a_process_stores_the_same_pack_whose_segments_are_those_stored_alone(
    pool: PostProcessorPool, own: InProcessPostProcessor, folder: Path
) -> None:
    texts = {3: "Short.", 1: TEXT, 2: "The moon came up."}
    headers = {index: replace(HEADER, job="there", index=index, fence=10 + index) for index in texts}
    parts = [SpeechToStore(headers[index], speech(text)) for index, text in texts.items()]

    there, again = pool.store_pack(TenantId("t"), parts), pool.store_pack(TenantId("t"), parts)
    here = own.store_pack(TenantId("t"), [replace(part, header=replace(part.header, job="other")) for part in parts])

    assert there == again
    assert [each.place for each in there] == [each.place for each in here]
    (path,) = (folder / "objects/jobs/t/there/packs").iterdir()
    assert path.stat().st_size == sum(each.num_bytes for each in there)
    alone = [own.store(key(f"alone-{number}"), part) for number, part in enumerate(parts)]
    assert [(each.sha256, each.num_samples) for each in there] == [(each.sha256, each.num_samples) for each in alone]
    for each in there:
        assert each.place is not None
        data = path.read_bytes()[each.place.offset :][: each.place.num_bytes]
        assert len(decode_segment(data).pcm) == each.num_samples


def test_a_pack_with_one_that_cannot_be_finished_is_not_stored(pool: PostProcessorPool, folder: Path) -> None:
    broken = replace(speech(), pcm=np.full(2400, np.nan, np.float32))
    headers = [replace(HEADER, job="broken", index=index) for index in (1, 2)]

    with pytest.raises(NotFinite):
        pool.store_pack(TenantId("t"), [SpeechToStore(headers[0], speech()), SpeechToStore(headers[1], broken)])

    assert not (folder / "objects/jobs/t/broken").exists()


def test_what_is_stored_already_is_no_error_and_something_else_there_is(pool: PostProcessorPool) -> None:
    first = pool.store(key("again"), SPOKEN)

    assert pool.store(key("again"), SPOKEN) == first
    with pytest.raises(ArtifactExists):
        pool.store(key("again"), SpeechToStore(HEADER, speech("Something of another length altogether, much longer.")))


def test_errors_arrive_as_what_they_are(pool: PostProcessorPool) -> None:
    broken = replace(speech(), pcm=np.full(2400, np.nan, np.float32))

    with pytest.raises(NotFinite, match="not finite"):
        pool.store(key("broken"), SpeechToStore(HEADER, broken))
    with pytest.raises(KeyRefused, match=r"\.\."):
        pool.store("../outside", SPOKEN)


def test_an_error_that_does_not_survive_the_journey_is_told_in_its_words(local_store: LocalArtifactStore) -> None:
    class Odd(StoreUnavailable):
        def __init__(self, first: str, second: str) -> None:
            super().__init__(first + second)

    class Broken(InProcessPostProcessor):
        def store(self, key: str, part: PackPart) -> StoredSpeech:
            raise Odd("it ", "broke")

    told = answer(Call(Broken.store, (key("odd"), SPOKEN)), Broken(local_store))

    assert isinstance(told, Raised)
    assert type(told.error) is RuntimeError
    assert "it broke" in str(told.error)


def test_a_process_that_cannot_start_says_why(environment: dict[str, str], folder: Path) -> None:
    (folder / "file").touch()
    full = {**environment, "RHAPSODE_STORE": f"file://{folder}/file/below"}
    pool = PostProcessorPool(2, 2, "folder", "test", full)

    with pytest.raises(PostProcessorUnusable, match="Not a directory"):
        pool.start()
    assert pool.pids == ()


def test_a_process_of_another_release_is_not_used(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.speech.postprocessing.child.RELEASE", bytes(32))
    pool = PostProcessorPool(1, 1, "folder", "test", environment)

    with pytest.raises(PostProcessorUnusable, match="another release"):
        pool.start()
    assert pool.pids == ()
