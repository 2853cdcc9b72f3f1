"""How fast a finished job becomes its files, and in how much memory: each format alone, then all in one pass.

The segments are simulated: 48 files of ten seconds stand for all of a job's, and are read from a folder each time they
are asked for. Everything else is what a worker does: checking, levelling, encoding, storing. "x real time" is seconds
of audio by seconds of wall clock, "cpu" the same by seconds of CPU. "peak MiB" is the resident memory of a process of
its own that does nothing else, "above" what it took more than before the first segment.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import rhapsode.contract.jobs.narration as contract
from reading.plan.plan import Chapter, Plan, PlannedSegment
from rhapsode.contract.jobs.output import AudioFormat, Loudness, Output, OutputFormat, SubtitleFormat, Timestamps
from storage.ids import JobId, TenantId
from storage.jobs.work_items import ClaimedItem, Lease
from storage.narration.audio_formats import default_bitrate_kbps
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.objects.local_store import LocalArtifactStore
from storage.segments.file import SegmentHeader
from storage.segments.results import SegmentResult
from storage.segments.timeline import chapter_spans, place_segments
from worker.assembly.audio.speaker_levels import speaker_levels
from worker.assembly.item import Assembly
from worker.assembly.narration import Narration
from worker.assembly.segment_reader import SegmentReader
from worker.items.leases.keeper import HeldLease
from worker.speech.audio.samples import to_samples
from worker.speech.audio.segment_audio import SegmentAudio, encode_segment
from worker.speech.audio.speech_edges import finish_edges

RATE_HZ = 24_000
SEGMENT_S = 10.0
FRAMES_PER_S = 12.5
NUM_FILES = 48
INDEX = "index.json"
PAUSE_S = 0.4
SEGMENTS_PER_CHAPTER = 180
TEXT_KEY = "text"
LEASE = Lease(JobId("job_0"), TenantId("bench"), "assemble", 1)
LOUDNESS = Loudness(target_lufs=-18.0, max_true_peak_db=-1.5)
LIMITED = Loudness(target_lufs=-14.0, max_true_peak_db=-3.0)
"""Here the loudest syllables of every segment pass the limiter."""


def _all() -> tuple[OutputFormat, ...]:
    return tuple(OutputFormat(type=form, bitrate_kbps=default_bitrate_kbps(form, RATE_HZ)) for form in AudioFormat)


def _alone(form: AudioFormat) -> Output:
    return Output(formats=(OutputFormat(type=form, bitrate_kbps=default_bitrate_kbps(form, RATE_HZ)),))


CASES: dict[str, Output] = {
    **{form.value: _alone(form) for form in AudioFormat},
    "wav 44.1 kHz": _alone(AudioFormat.WAV).model_copy(update={"sample_rate": 44_100}),
    "wav, word times": _alone(AudioFormat.WAV).model_copy(update={"timestamps": Timestamps.WORD}),
    "wav levelled": _alone(AudioFormat.WAV).model_copy(update={"loudness": LOUDNESS}),
    "wav limited": _alone(AudioFormat.WAV).model_copy(update={"loudness": LIMITED}),
    "mp3 limited": _alone(AudioFormat.MP3).model_copy(update={"loudness": LIMITED}),
    "all five, levelled": Output(
        formats=_all(),
        loudness=LOUDNESS,
        timestamps=Timestamps.SEGMENT,
        subtitles=(SubtitleFormat.SRT, SubtitleFormat.VTT),
    ),
}


@dataclass(frozen=True, slots=True)
class Figures:
    wall_s: float
    cpu_s: float
    peak_mib: float
    above_mib: float
    stored_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0, help="of audio in the job (default: 1)")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--dir", type=Path, help="where files are written; default: the temporary folder")
    parser.add_argument("--child", choices=list(CASES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(asdict(measure(arguments.child, arguments.hours, arguments.dir))))
        return
    print(f"{arguments.hours:g} hours in {num_segments(arguments.hours):,} segments")
    print(f"{'output':<20}{'x real time':>12}{'cpu':>8}{'peak MiB':>10}{'above':>8}{'MB':>9}")
    with tempfile.TemporaryDirectory(prefix="rhapsode-", dir=arguments.dir) as root:
        make_segments(Path(root))
        for case in arguments.cases:
            figures = in_a_process_of_its_own(case, arguments.hours, root)
            seconds = arguments.hours * 3600
            print(
                f"{case:<20}{seconds / figures.wall_s:>12.0f}{seconds / figures.cpu_s:>8.0f}{figures.peak_mib:>10.0f}"
                f"{figures.above_mib:>8.0f}{figures.stored_mb:>9.0f}",
                flush=True,
            )


def in_a_process_of_its_own(case: str, hours: float, root: str) -> Figures:
    command = [sys.executable, __file__, "--child", case, "--hours", str(hours), "--dir", root]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(answer.stdout))


def measure(case: str, hours: float, root: Path) -> Figures:
    """In this process, which has done nothing else."""
    store = SimulatedSegments(root)
    narration = simulated_narration(store, num_segments(hours))
    spec = NarrationSpec(contract.Narration(model="small", voice="ada", output=CASES[case]))
    item = ClaimedItem(LEASE, 1, 0, spec, "", None, None)
    speakers = speaker_levels(narration.placed, spec.voice_of, ())
    held = HeldLease(LEASE, 60.0)
    reader = SegmentReader(LEASE.tenant, LEASE.job, narration.sample_rate_hz, store, held)
    assembly = Assembly(item, narration, speakers, reader.read, store, held)
    before_mib = resident_mib()
    cpu_s, started_s = time.process_time(), time.monotonic()
    made = assembly.make([]).artifacts
    wall_s, cpu_s = time.monotonic() - started_s, time.process_time() - cpu_s
    store.delete_prefix(keys.all_artifacts_prefix(LEASE.tenant, LEASE.job))
    stored_mb = sum(artifact.bytes for artifact in made) / 1e6
    return Figures(wall_s, cpu_s, resident_mib(), resident_mib() - before_mib, stored_mb)


def num_segments(hours: float) -> int:
    return round(hours * 3600 / (SEGMENT_S + PAUSE_S))


def resident_mib() -> float:
    """The most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class SimulatedSegments(LocalArtifactStore):
    """A folder store in which every segment of the job is one of a few files."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, b"0" * 32)
        self.files: list[tuple[str, int]] = json.loads((root / INDEX).read_text())

    def get(self, key: str) -> bytes:
        if key == TEXT_KEY:
            return super().get(key)
        index = int(key.rpartition("/")[2].partition("-")[0])
        return super().get(_file_key(index % NUM_FILES))


def make_segments(root: Path) -> None:
    """The files, and an index of their digests and lengths in samples."""
    store = LocalArtifactStore(root, b"0" * 32)
    index: list[tuple[str, int]] = []
    for number in range(NUM_FILES):
        samples = to_samples(finish_edges(murmur(number), RATE_HZ))
        codes = np.full((round(SEGMENT_S * FRAMES_PER_S), 16), number, np.int16)
        header = SegmentHeader("job_0", number, 1, "ab" * 32, number, "eos", "small", "r1", RATE_HZ, "ada")
        stored = store.put(_file_key(number), encode_segment(SegmentAudio(header, samples, codes)))
        index.append((stored.sha256, len(samples)))
    (root / INDEX).write_text(json.dumps(index))
    # Where words are looked for; that they are not found costs no less.
    store.put(TEXT_KEY, b"A simulated book.")


def _file_key(number: int) -> str:
    return keys.segment(LEASE.tenant, JobId("job_files"), number, 1)


def simulated_narration(store: SimulatedSegments, count: int) -> Narration:
    segments: list[PlannedSegment] = []
    results: list[SegmentResult] = []
    for index in range(count):
        text = f"This is what segment {index} of the simulated book has to say, at about the usual length. " * 2
        segments.append(PlannedSegment(index, index, index + 1, text, PAUSE_S, chapter=index // SEGMENTS_PER_CHAPTER))
        sha256, num_samples = store.files[index % NUM_FILES]
        results.append(SegmentResult(index, 1, num_samples, sha256))
    chapters = tuple(
        Chapter(f"Chapter {number + 1}", first) for number, first in enumerate(range(0, count, SEGMENTS_PER_CHAPTER))
    )
    placed = place_segments(segments, results, RATE_HZ)
    plan = Plan(tuple(segments), chapters, title="A simulated book", text_key=TEXT_KEY)
    return Narration(plan, placed, RATE_HZ, chapter_spans(chapters, placed, RATE_HZ), "english")


def murmur(seed: int) -> np.ndarray:
    """Harmonics of a moving pitch in syllables, with breath between: what an encoder has to work for."""
    rng = np.random.default_rng(seed)
    time_s = np.arange(round(SEGMENT_S * RATE_HZ)) / RATE_HZ
    pitch_hz = 110 + 25 * np.sin(2 * np.pi * 0.4 * time_s + seed) + 5 * rng.standard_normal(1)
    phase = 2 * np.pi * np.cumsum(pitch_hz) / RATE_HZ
    voiced = sum(np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 25))
    syllables = np.clip(np.sin(2 * np.pi * 3.7 * time_s + rng.uniform(0, 6)) + 0.4, 0, None)
    return (0.1 * syllables * voiced + 0.004 * rng.standard_normal(len(time_s))).astype(np.float32)


if __name__ == "__main__":
    main()
