"""Every preset makes files that pass its own check; quiet that was asked for is where it was asked for."""

from __future__ import annotations

import io
import json
from pathlib import Path

import av
import numpy as np
import pysubs2
import pytest
import soundfile

from api.jobs.submission.output import resolve_output
from reading.plan.plan import Chapter
from rhapsode.contract.jobs.output import Output, SubtitleFormat
from rhapsode.contract.jobs.presets import PRESETS, OutputPreset
from storage.jobs.record import JobRecord
from tests.worker.assembly.studio import RATE_HZ, Book, artifact, assemble, content, voice_like
from tests.worker.studio import Studio
from worker.speech.mastering.checking import figures, unlike
from worker.speech.mastering.measuring import measure_file

BOOK = Book(
    [voice_like(3 + number, 0.05 * (1 + number), number) for number in range(4)],
    (0.6, 2.0, 0.6, 0.8),
    (Chapter("One", 0), Chapter("Two", 2)),
)


def files_of(studio: Studio, record: JobRecord, folder: Path) -> list[Path]:
    """The audio that was made, as files."""
    audio = [each for each in record.artifacts if each.type in ("mp3", "m4b", "wav")]
    made = {each.name: studio.artifacts.get(each.key) for each in audio}
    for listing in (each for each in record.artifacts if each.type == "chapters"):
        place = listing.key.rpartition("/")[0]
        for each in json.loads(studio.artifacts.get(listing.key))["files"]:
            made[each["object"]] = studio.artifacts.get(f"{place}/{each['object']}")
    for name, data in made.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in made]


@pytest.mark.parametrize("preset", OutputPreset)
def test_what_a_preset_makes_passes_its_check(studio: Studio, preset: OutputPreset, tmp_path: Path) -> None:
    record = assemble(studio, BOOK, resolve_output(Output(preset=preset), RATE_HZ))

    files = files_of(studio, record, tmp_path)
    assert len(files) == (2 if preset is OutputPreset.ACX else 1)
    measured = [measure_file(file) for file in files]
    missed = [
        (file.name, figure.name, figure.found, figure.asked)
        for file, found in zip(files, measured, strict=True)
        for figure in figures(found, PRESETS[preset])
        if figure.is_met is False
    ]
    assert missed == []
    assert unlike(measured) == ()
    assert record.warnings == ()
    if preset is OutputPreset.ACX:
        for file in files:
            assert mp3_bitrates(file.read_bytes()) == {192}
            assert -80 < measure_file(file).noise_floor_db < -60


def test_a_chapter_of_one_short_sentence_passes_acx(studio: Studio, tmp_path: Path) -> None:
    book = Book([voice_like(3, 0.1, 1)], (0.8,))

    record = assemble(studio, book, resolve_output(Output(preset=OutputPreset.ACX), RATE_HZ))

    (file,) = files_of(studio, record, tmp_path)
    assert [each for each in figures(measure_file(file), PRESETS[OutputPreset.ACX]) if each.is_met is False] == []


def mp3_bitrates(data: bytes) -> set[int]:
    """Of every frame's own header: MPEG 1, layer III."""
    kbps = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
    size = sum((byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=True))
    place = 10 + size if data[:3] == b"ID3" else 0
    found: set[int] = set()
    while data[place : place + 2] in (b"\xff\xfb", b"\xff\xfa"):
        rate = kbps[data[place + 2] >> 4]
        found.add(rate)
        place += 144 * rate * 1000 // 44_100 + (data[place + 2] >> 1 & 1)
    assert len(data) - place in (0, 128), "frames up to the end, or to an ID3v1 tag"
    return found


def test_heads_tails_and_room_tone_are_where_they_were_asked_for(studio: Studio) -> None:
    output = Output(head_s=0.75, tail_s=2.5, room_tone_db=-72.0, subtitles=(SubtitleFormat.SRT,))
    plain = assemble(studio, BOOK, Output())

    record = assemble(studio, BOOK, output)

    samples, _ = soundfile.read(io.BytesIO(content(studio, record, "narration.wav")), dtype="int16")
    spoken, _ = soundfile.read(io.BytesIO(content(studio, plain, "narration.wav")), dtype="int16")
    manifest = json.loads(content(studio, record, "manifest.json"))
    before = json.loads(content(studio, plain, "manifest.json"))
    assert len(samples) == manifest["totals"]["samples"]
    assert artifact(record, "narration.wav").duration_s == manifest["totals"]["duration_s"]
    first, last = manifest["segments"][0], manifest["segments"][-1]
    assert first["start_s"] == pytest.approx(0.75)
    assert manifest["totals"]["duration_s"] - last["start_s"] - last["duration_s"] == pytest.approx(2.5)
    shift = round(first["start_s"] * RATE_HZ) - round(before["segments"][0]["start_s"] * RATE_HZ)
    tone = (
        samples[shift : shift + len(spoken)].astype(np.int32)[: len(samples) - shift] - spoken[: len(samples) - shift]
    )
    assert np.abs(tone).max() < 64, "speech is what it was, with the tone under it"
    quiet = samples[: RATE_HZ // 2].astype(np.float64) / 32768
    assert 20 * np.log10(np.sqrt(np.square(quiet).mean())) == pytest.approx(-72, abs=2)
    cues = pysubs2.SSAFile.from_string(content(studio, record, "narration.srt").decode(), format_="srt")
    assert cues[0].start / 1000 == pytest.approx(0.75, abs=1e-3)


def test_the_marks_of_chapters_stand_where_they_are_heard(studio: Studio) -> None:
    output = Output.model_validate({"formats": [{"type": "m4b", "bitrate_kbps": 96}], "head_s": 1.0, "tail_s": 3.0})

    record = assemble(studio, BOOK, output)

    rows = json.loads(content(studio, record, "manifest.json"))["segments"]
    with av.open(io.BytesIO(content(studio, record, "narration.m4b"))) as container:
        starts = [float(chapter["start"] * (chapter["time_base"] or 0)) for chapter in container.chapters()]
    assert starts == [0.0, pytest.approx(rows[2]["start_s"], abs=2e-3)]
