"""A file for each chapter beside files of the whole, in one pass over the samples."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
import redis
import soundfile
from mutagen.flac import FLAC
from mutagen.id3 import ID3
from mutagen.mp4 import MP4
from mutagen.oggopus import OggOpus

from reading.plan.plan import Chapter
from rhapsode.contract.jobs.output import AudioFormat, Files, Loudness, LoudnessScope, Output, OutputFormat, Tags
from storage.audio.description import Description
from storage.job_store.control import JobControl
from storage.jobs.chapter_files import ChapterFile, as_artifact, decode_chapter_files
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from tests.worker.assembly.studio import RATE_HZ, Book, artifact, assemble, content, voice_like
from tests.worker.studio import TENANT, Studio
from worker.assembly.audio import chapter_files
from worker.assembly.audio.chapter_files import Cutter

CHAPTERS = (Chapter("Loomings", 0), Chapter("The Carpet/Bag", 2), Chapter("", 3))
BOOK = Book(
    [voice_like(0.8 + 0.2 * number, 0.1 + 0.1 * number, number) for number in range(5)],
    (0.3, 1.1, 0.9, 0.3, 0.0),
    CHAPTERS,
    title="Moby",
    author="Melville",
)


def in_chapters(*forms: AudioFormat) -> tuple[OutputFormat, ...]:
    return tuple(OutputFormat(type=form, files=Files.CHAPTERS) for form in forms)


def files_of(studio: Studio, record: JobRecord, form: str) -> list[tuple[ChapterFile, bytes]]:
    listing = artifact(record, f"chapters-{form}.json")
    found = decode_chapter_files(studio.artifacts.get(listing.key))
    return [(file, studio.artifacts.get(as_artifact(file, listing).key)) for file in found]


def test_the_files_of_chapters_are_the_whole_sample_for_sample(studio: Studio) -> None:
    """Also at another sample rate, where no chapter ends on a sample of the model's."""
    output = Output(
        formats=(OutputFormat(type=AudioFormat.WAV), *in_chapters(AudioFormat.WAV, AudioFormat.FLAC)),
        sample_rate=44_100,
    )
    record = assemble(studio, BOOK, output)
    whole, _ = soundfile.read(io.BytesIO(content(studio, record, "narration.wav")), dtype="int16")

    for form in ("wav", "flac"):
        parts = [soundfile.read(io.BytesIO(data), dtype="int16")[0] for _, data in files_of(studio, record, form)]
        assert np.array_equal(np.concatenate(parts), whole)
        assert all(np.abs(part).max() > 0 for part in parts)


def test_they_are_named_numbered_and_described(studio: Studio) -> None:
    forms = (AudioFormat.MP3, AudioFormat.FLAC, AudioFormat.OPUS, AudioFormat.M4B)
    record = assemble(studio, BOOK, Output(formats=in_chapters(*forms), tags=Tags(narrator="Ada")))
    made = {form.value: files_of(studio, record, form) for form in forms}

    for form, files in made.items():
        assert [file.name for file, _ in files] == [f"01 Loomings.{form}", f"02 The Carpet Bag.{form}", f"03.{form}"]
        assert [file.title for file, _ in files] == ["Loomings", "The Carpet/Bag", ""]
        listing = artifact(record, f"chapters-{form}.json")
        assert (listing.listed, listing.listed_bytes) == (3, sum(len(data) for _, data in files))
        assert [file.bytes for file, _ in files] == [len(data) for _, data in files]
    second = {form: io.BytesIO(files[1][1]) for form, files in made.items()}
    id3 = ID3(second["mp3"])
    assert [str(id3[frame]) for frame in ("TIT2", "TALB", "TPE1", "TCOM", "TRCK")] == [
        "The Carpet/Bag",
        "Moby",
        "Melville",
        "Ada",
        "2/3",
    ]
    mp4 = MP4(second["m4b"])
    assert (mp4["\xa9nam"], mp4["\xa9alb"], mp4["trkn"]) == (["The Carpet/Bag"], ["Moby"], [(2, 3)])
    for comments in (FLAC(second["flac"]), OggOpus(second["opus"])):
        told = {name: comments[name] for name in ("title", "album", "tracknumber", "tracktotal")}
        assert told == {"title": ["The Carpet/Bag"], "album": ["Moby"], "tracknumber": ["2"], "tracktotal": ["3"]}
    manifest = json.loads(content(studio, record, "manifest.json"))
    assert "chapters-mp3.json" in [each["name"] for each in manifest["artifacts"]]


def test_a_text_without_chapters_is_one_file(studio: Studio) -> None:
    book = Book(BOOK.pcm[:2], (0.3, 0.0), title="A tale")
    [(file, data)] = files_of(studio, assemble(studio, book, Output(formats=in_chapters(AudioFormat.MP3))), "mp3")

    assert (file.name, file.chapter) == ("01 A tale.mp3", 1)
    assert str(ID3(io.BytesIO(data))["TRCK"]) == "1/1"


def test_each_file_has_the_loudness_of_a_chapter(studio: Studio) -> None:
    loudness = Loudness(target_lufs=-24, max_true_peak_db=-1, scope=LoudnessScope.CHAPTER)
    book = Book([voice_like(2, 0.05, 1), voice_like(2, 0.4, 2)], (0.5, 0.0), (Chapter("a", 0), Chapter("b", 1)))
    record = assemble(studio, book, Output(formats=in_chapters(AudioFormat.WAV), loudness=loudness))

    quiet, loud = (soundfile.read(io.BytesIO(data))[0] for _, data in files_of(studio, record, "wav"))
    assert np.square(quiet).mean() == pytest.approx(np.square(loud).mean(), rel=0.4)


def test_files_of_an_earlier_assembly_stay(studio: Studio, redis_client: redis.Redis) -> None:
    record = assemble(studio, BOOK, Output(formats=in_chapters(AudioFormat.MP3)))
    flac = Output(formats=in_chapters(AudioFormat.FLAC))

    JobControl(redis_client).assemble(TENANT, record.id, lambda spec: spec.asking(output=flac), None)
    studio.run_one(CPU_QUEUE)

    again = studio.record(record)
    made = [*files_of(studio, again, "mp3"), *files_of(studio, again, "flac")]
    assert len(made) == 6
    folder = keys.all_artifacts_prefix(TENANT, record.id)
    entries = [*studio.artifacts.list(folder)]
    assert len(entries) == len(again.artifacts) + 6
    assert sum(entry.bytes for entry in entries) == sum(each.bytes + each.listed_bytes for each in again.artifacts)


def test_a_thousand_chapters_take_one_encoder_at_a_time_and_no_room_in_the_record(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    num, open_now, most = 300, 0, 0
    lock, made = threading.Lock(), chapter_files.audio_file

    def counting(
        form: OutputFormat, rate_hz: int, num_samples: int, description: Description, blocks: Iterable[bytes]
    ) -> Iterator[bytes]:
        nonlocal open_now, most
        with lock:
            open_now += 1
            most = max(most, open_now)
        yield from made(form, rate_hz, num_samples, description, blocks)
        with lock:
            open_now -= 1

    monkeypatch.setattr(chapter_files, "audio_file", counting)
    sound = voice_like(0.1, 0.3, 1)
    book = Book([sound] * num, (0.0,) * num, tuple(Chapter(f"Chapter {number}", number) for number in range(num)))
    record = assemble(studio, book, Output(formats=in_chapters(AudioFormat.WAV, AudioFormat.OPUS)))

    assert most <= 2
    assert len(record.artifacts) == 4
    files = files_of(studio, record, "opus")
    assert len(files) == num
    assert files[-1][0].name == "300 Chapter 299.opus"


def test_blocks_are_cut_anywhere() -> None:
    cutter = Cutter([b"abc", b"", b"defgh", b"i", b""])

    assert [b"".join(cutter.take(size)) for size in (1, 4, 0, 4)] == [b"a", b"bcde", b"", b"fghi"]
    cutter.finish()
    with pytest.raises(ValueError, match="2 bytes are missing"):
        b"".join(Cutter([b"ab"]).take(4))
    with pytest.raises(ValueError, match="1 bytes are left"):
        Cutter([b"a"]).finish()


def test_the_rate_is_the_models_own_unless_asked(studio: Studio) -> None:
    record = assemble(studio, BOOK, Output(formats=in_chapters(AudioFormat.WAV)))
    rates = {soundfile.info(io.BytesIO(data)).samplerate for _, data in files_of(studio, record, "wav")}

    assert rates == {RATE_HZ}
