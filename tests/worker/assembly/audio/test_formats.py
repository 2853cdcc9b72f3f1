"""One job in every format at once, read back by programs that share no code with what wrote it where there are any."""

from __future__ import annotations

import base64
import io
import json
import math
from operator import attrgetter

import av
import numpy as np
import pytest
import soundfile
from mutagen.flac import FLAC, Picture
from mutagen.mp3 import MP3
from mutagen.mp4 import MP4
from mutagen.oggopus import OggOpus
from numpy.typing import NDArray

from reading.plan.plan import Chapter
from rhapsode.contract.jobs.output import AudioFormat, Loudness, Output, OutputFormat, SubtitleFormat, Tags, Timestamps
from storage.jobs.record import JobRecord
from tests.worker.assembly.studio import RATE_HZ, Book, artifact, assemble, content, lufs, voice_like
from tests.worker.studio import Studio

LENGTHS_S = (3.1, 4.7, 0.9, 5.3, 2.2, 3.9)
PAUSES_S = (0.25, 1.5, 0.6, 1.5, 0.02, 0.0)
CHAPTERS = (Chapter("One", 0), Chapter("Zwei & mehr", 2), Chapter("三", 4))
TARGET = Loudness(target_lufs=-20.0, max_true_peak_db=-1.5)
FORMATS = (
    OutputFormat(type=AudioFormat.WAV),
    OutputFormat(type=AudioFormat.FLAC),
    OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96),
    OutputFormat(type=AudioFormat.OPUS, bitrate_kbps=48),
    OutputFormat(type=AudioFormat.M4B, bitrate_kbps=96),
    OutputFormat(type=AudioFormat.AAC, bitrate_kbps=96),
)
OUTPUT = Output(
    formats=FORMATS,
    loudness=TARGET,
    timestamps=Timestamps.SEGMENT,
    subtitles=(SubtitleFormat.SRT, SubtitleFormat.VTT),
    tags=Tags(title="A book", narrator="Ada", genre="Fable", date="2026", publisher="Us", description="Short."),
)


def jpeg() -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="image2pipe") as container:
        stream = container.add_stream("mjpeg", width=48, height=32, pix_fmt="yuvj420p")
        frame = av.VideoFrame(48, 32, "yuvj420p")
        for plane in frame.planes:
            plane.update(bytes([120]) * plane.buffer_size)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def book() -> Book:
    pcm = [voice_like(seconds, 0.1 + 0.1 * (number % 3), number) for number, seconds in enumerate(LENGTHS_S)]
    return Book(pcm, PAUSES_S, CHAPTERS, title="Not this", author="An Author", cover=jpeg())


@pytest.fixture
def made(studio: Studio) -> JobRecord:
    return assemble(studio, book(), OUTPUT)


def decoded(data: bytes) -> tuple[NDArray[np.float64], int]:
    """Samples of full scale 1 and their rate, by FFmpeg's decoders."""
    with av.open(io.BytesIO(data), mode="r") as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="flt", layout="mono")
        frames = [part for frame in container.decode(stream) for part in resampler.resample(frame)]
        return np.concatenate([frame.to_ndarray()[0] for frame in frames]).astype(float), stream.rate


def read_back(data: bytes) -> tuple[NDArray[np.float64], int]:
    """The same by libsndfile."""
    samples, rate_hz = soundfile.read(io.BytesIO(data))
    return np.asarray(samples, np.float64), rate_hz


def test_every_format_holds_the_narration_at_its_loudness(studio: Studio, made: JobRecord) -> None:
    """One test, because making the files is what takes long."""
    wav, rate_hz = read_back(content(studio, made, "narration.wav"))
    manifest = json.loads(content(studio, made, "manifest.json"))
    duration_s = len(wav) / RATE_HZ
    assert rate_hz == RATE_HZ
    assert manifest["totals"]["duration_s"] == pytest.approx(duration_s)

    flac, _ = read_back(content(studio, made, "narration.flac"))
    assert np.array_equal(flac, wav)
    for name in ("narration.mp3", "narration.opus", "narration.m4b", "narration.aac"):
        data = content(studio, made, name)
        is_aac = not name.endswith(("mp3", "opus"))
        # FFmpeg's decoder leaves the filling of the last AAC frame in place; the container's own duration is below. A
        # bare stream cannot say either that its first frame of 43 ms is no sound.
        samples, rate_hz = decoded(data) if is_aac else read_back(data)
        assert len(samples) / rate_hz == pytest.approx(duration_s, abs=0.09 if is_aac else 0.001), name
        assert lufs(samples, rate_hz) == pytest.approx(TARGET.target_lufs, abs=0.5), name
        assert np.abs(samples).max() < 1, name
        assert artifact(made, name).duration_s == pytest.approx(duration_s)
    assert lufs(wav, RATE_HZ) == pytest.approx(TARGET.target_lufs, abs=0.05)
    assert 20 * math.log10(np.abs(wav).max()) <= TARGET.max_true_peak_db

    for name in ("narration.mp3", "narration.m4b", "narration.flac"):
        with av.open(io.BytesIO(content(studio, made, name)), mode="r") as container:
            assert (container.duration or 0) / 1e6 == pytest.approx(duration_s, abs=0.02), name
    opus = OggOpus(io.BytesIO(content(studio, made, "narration.opus")))
    assert opus.info is not None
    assert opus.info.length == pytest.approx(duration_s, abs=0.02)


def test_chapters_tags_and_cover_are_where_players_look(studio: Studio, made: JobRecord) -> None:
    m4b = MP4(io.BytesIO(content(studio, made, "narration.m4b")))
    mp3 = MP3(io.BytesIO(content(studio, made, "narration.mp3")))
    flac = FLAC(io.BytesIO(content(studio, made, "narration.flac")))
    opus = OggOpus(io.BytesIO(content(studio, made, "narration.opus")))
    manifest = json.loads(content(studio, made, "manifest.json"))
    chapters = manifest["chapters"]
    starts = [row["start_s"] for row in manifest["segments"]]
    wanted = [0.0, starts[2], starts[4]]
    assert [chapter["start_s"] for chapter in chapters] == pytest.approx(wanted)

    assert m4b.chapters is not None
    assert m4b.tags is not None
    assert [(each.title, each.start) for each in m4b.chapters] == [
        (chapter.title, pytest.approx(start, abs=0.02)) for chapter, start in zip(CHAPTERS, wanted, strict=True)
    ]
    assert (m4b.tags["\xa9nam"], m4b.tags["\xa9ART"], m4b.tags["\xa9wrt"]) == (["A book"], ["An Author"], ["Ada"])
    assert bytes(m4b.tags["covr"][0]) == book().cover

    assert mp3.tags is not None
    frames = sorted(mp3.tags.getall("CHAP"), key=attrgetter("start_time"))
    assert [(str(frame.sub_frames["TIT2"]), frame.start_time / 1000) for frame in frames] == [
        (chapter.title, pytest.approx(start, abs=0.02)) for chapter, start in zip(CHAPTERS, wanted, strict=True)
    ]
    assert (str(mp3.tags["TIT2"]), str(mp3.tags["TPE1"]), str(mp3.tags["TCON"])) == ("A book", "An Author", "Fable")
    assert mp3.tags.getall("APIC")[0].data == book().cover

    for comments in (flac, opus):
        assert comments["title"] == ["A book"]
        assert comments["artist"] == ["An Author"]
        assert [comments[f"chapter{number:03d}name"][0] for number in range(3)] == [each.title for each in CHAPTERS]
        assert [seconds(comments[f"chapter{number:03d}"][0]) for number in range(3)] == pytest.approx(wanted, abs=0.02)
    assert flac.pictures[0].data == book().cover
    assert Picture(base64.b64decode(opus["metadata_block_picture"][0])).data == book().cover


def test_files_say_what_the_document_says_of_itself(studio: Studio) -> None:
    said = Book(
        [voice_like(0.5, 0.2, 1)], [0.0], title="The Mill", author="Ann", publisher="Mill Press", date="1897-05-26"
    )

    record = assemble(studio, said, Output(formats=(OutputFormat(type=AudioFormat.FLAC),)))

    comments = FLAC(io.BytesIO(content(studio, record, "narration.flac")))
    assert [comments[name] for name in ("title", "artist", "publisher", "date")] == [
        *(["The Mill"], ["Ann"], ["Mill Press"], ["1897-05-26"]),
    ]


def seconds(clock: str) -> float:
    hours, minutes, rest = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)
