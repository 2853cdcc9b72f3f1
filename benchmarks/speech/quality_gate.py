"""What checking and reusing cost for each segment: CPU time of the gate, calls of the index, bytes in Redis.

CPU time is of this process and hardly changes with what else the machine does; wall time of the calls does.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import redis
import soundfile

from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.quality import Gate
from rhapsode.contract.jobs.states import Priority
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import JobId, TenantId, new_job_id
from storage.job_store.segment_reads import ResultSamples
from storage.job_store.segment_reuse import ReuseIndex, SegmentContent
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.work_items import PlanResult, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.segments.results import SegmentReport
from tests.run_guard import guarded_run
from worker.engine.interface import FinishReason, Speech
from worker.speech.quality.calibration.calibration_file import FILE_NAME, UNCALIBRATED, read_calibration
from worker.speech.quality.gate import QualityGate
from worker.speech.quality.listening import RecogniserPool
from worker.speech.quality.norms_cache import SAMPLE
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.verdict import Utterance, measured_verdict

RATE_HZ, SAMPLES_PER_FRAME, NUM_CODEBOOKS = 24_000, 1_920, 16
TENANT, WORKER, MODEL = TenantId("local"), WorkerIdentity("w", "1"), "small"
SECONDS = (5, 10, 15)
ROUNDS = 40
SMALL_VOICE = Path(__file__).resolve().parents[2] / "worker/small_voice"
SENTENCES = "Nobody had told her about the bridge; she had walked from the mill, and the tide was high. " * 3
YARDSTICK = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=2_000, help="of the job whose bytes are counted")
    arguments = parser.parse_args()
    measure_gate()
    measure_recogniser()
    with guarded_run() as folder, EmbeddedRedis(folder) as server:
        client = redis.Redis.from_url(server.url, decode_responses=True)
        measure_index(client, arguments.segments)
        client.close()


def measure_gate() -> None:
    """Beside a product of fixed size, run in turns with it: what company on the machine costs, it costs both."""
    gates = {
        "no calibration": QualityGate(UNCALIBRATED, {}, measured_verdict),
        "small voice": QualityGate(read_calibration(SMALL_VOICE / FILE_NAME), {}, measured_verdict),
    }
    print(f"{'basic gate':<28}{'audio s':>9}{'CPU ms':>9}{'x real time':>13}{'x yardstick':>13}")
    for name, gate in gates.items():
        for seconds in SECONDS:
            utterance = Utterance(spoken(seconds), SENTENCES[: 15 * seconds], "slt", "english")
            cpu_s, yardstick_s = cpu_beside(partial(gate.judge, utterance, Gate.BASIC, None), yardstick)
            ratio = cpu_s / yardstick_s
            print(f"{name:<28}{seconds:>9}{cpu_s * 1e3:>9.2f}{seconds / cpu_s:>13,.0f}{ratio:>13.1f}")


def yardstick() -> None:
    """A fifth of a millisecond on an idle core of the machine that the page of benchmarks is of."""
    spectra = np.fft.rfft(YARDSTICK, axis=1)
    np.sort(np.square(spectra.real) + np.square(spectra.imag), axis=1)


def measure_recogniser() -> None:
    """On the recording of a person that comes with the recogniser."""
    spec = importlib.util.find_spec("moonshine_voice")
    if spec is None or spec.origin is None:
        raise SystemExit("the recogniser is not installed: pip install 'rhapsode[listening]'")
    pcm, rate_hz = soundfile.read(Path(spec.origin).parent / "assets" / "two_cities.wav", dtype="float32")
    pool = RecogniserPool(MoonshineTiny)
    heard = np.asarray(pcm[: 10 * rate_hz], np.float32)
    speech = Speech(heard, np.zeros((125, NUM_CODEBOOKS), np.int16), rate_hz, FinishReason.EOS, 0.0)
    pool.transcribe(speech)
    cpu_s = cpu_seconds(lambda: pool.transcribe(speech), rounds=5)
    print(f"{'asr, Moonshine tiny':<28}{10:>9}{cpu_s * 1e3:>9.0f}{10 / cpu_s:>13,.0f}")


def measure_index(client: redis.Redis, num_segments: int) -> None:
    contents = [content(number) for number in range(num_segments)]
    lines, _ = stored_bytes(client, num_segments, [""] * num_segments)
    both, job = stored_bytes(client, num_segments, [each.id for each in contents])
    print(f"\nRedis, {num_segments:,} segments: {lines:.0f} B a result, {both - lines:.0f} B more for its hint")
    index, samples = ReuseIndex(client), ResultSamples(client)
    other = content(-1).id
    for name, call in (
        ("find, none has it", lambda: index.find(TENANT, other)),
        ("find, an earlier job has it", lambda: index.find(TENANT, contents[7].id)),
        (f"{SAMPLE} results of a job", lambda: samples.read(job, SAMPLE)),
    ):
        wall_ms = statistics.median(wall_seconds(call) for _ in range(ROUNDS)) * 1e3
        print(f"{name:<28}{wall_ms:>9.2f} ms wall, {cpu_seconds(call) * 1e3:.2f} ms CPU")


def stored_bytes(client: redis.Redis, num_segments: int, reuse_ids: list[str]) -> tuple[float, JobId]:
    """What a segment adds to Redis when its job has finished speaking; and the job."""
    client.flushdb()
    jobs = JobStore(client)
    job = new_job_id()
    spec = NarrationSpec(Narration(model=MODEL, voice="alice"))
    jobs.submit(Submission(job, TENANT, spec, Priority.LOW, "input", 1, num_segments * 10_000, 3_600))
    plan = jobs.claim(CPU_QUEUE, WORKER, 60).item
    assert plan is not None
    jobs.commit_plan(plan.lease, PlanResult("plan", num_segments, num_segments * 10_000))
    before = used_memory(client)
    for reuse_id in reuse_ids:
        item = jobs.claim(speech_queue(MODEL), WORKER, 60).item
        assert item is not None
        jobs.commit_segment(item.lease, replace(finished(), reuse_id=reuse_id, seed=int(item.lease.item) << 40))
    return (used_memory(client) - before) / num_segments, job


def used_memory(client: redis.Redis) -> int:
    """Without what is kept for a short while only: the answers of claims, and the log of events."""
    for pattern in ("*:claims:*", "*:events:*"):
        for key in client.scan_iter(pattern, count=1_000):
            client.delete(key)
    return int(client.info("memory")["used_memory"])


def finished() -> SegmentReport:
    return SegmentReport(240_000, RATE_HZ, 160, "ab" * 32, "eos", 900, loudness_lufs=-21.37)


def content(number: int) -> SegmentContent:
    spec = NarrationSpec(Narration(model=MODEL, voice="alice"))
    return SegmentContent(
        TENANT, f"sentence {number}", "alice", MODEL, "r", "english", "", spec.request.sampling, None, 0, Gate.BASIC
    )


def spoken(seconds: int) -> Speech:
    """A sentence of the small voice as often as it takes, and codec frames that hardly repeat, as those of speech."""
    sentence, _ = soundfile.read(SMALL_VOICE / "samples" / "moon-slt.wav", dtype="float32")
    pcm = np.resize(np.asarray(sentence, np.float32), seconds * RATE_HZ)
    num_frames = seconds * RATE_HZ // SAMPLES_PER_FRAME
    frames = np.random.default_rng(seconds).integers(0, 2_048, (num_frames, NUM_CODEBOOKS), dtype=np.int16)
    return Speech(pcm, frames, RATE_HZ, FinishReason.EOS, 0.0)


def cpu_seconds(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median of one call."""
    call()
    spent: list[float] = []
    for _ in range(rounds):
        begun = time.process_time()
        call()
        spent.append(time.process_time() - begun)
    return statistics.median(spent)


def cpu_beside(call: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Medians of both, run in turns."""
    spent = [(cpu_seconds(call, rounds=1), cpu_seconds(other, rounds=1)) for _ in range(ROUNDS)]
    return statistics.median(each[0] for each in spent), statistics.median(each[1] for each in spent)


def wall_seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
