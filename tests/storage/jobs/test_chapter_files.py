"""Names of the files of chapters, and the list that the store keeps of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.jobs.chapter_files import (
    CHAPTERS,
    ChapterFile,
    as_artifact,
    decode_chapter_files,
    encode_chapter_files,
    file_name,
    is_listed,
    list_name,
    object_name,
)
from storage.jobs.record import ArtifactRecord
from storage.objects.key_rules import check_key

LISTING = ArtifactRecord(list_name("mp3"), CHAPTERS, "jobs/t/job_1/artifacts/7/chapters-mp3.json", 1, "", None, "s")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Loomings", "01 Loomings.mp3"),
        ("", "01.mp3"),
        ("  ...  ", "01.mp3"),
        ("../../etc/passwd", "01 .. .. etc passwd.mp3"),
        ('What? "No": <a|b>*', "01 What No a b.mp3"),
        ("Zwölf\tKa\u0308se\u202e\x00\x1b[2J", "01 Zwölf Käse [2J.mp3"),
        ("CON.", "01 CON.mp3"),
        ("第一章", "01 第一章.mp3"),
    ],
)
def test_whatever_a_title_says_the_file_has_a_name_everywhere(title: str, name: str) -> None:
    assert file_name(1, 12, title, "mp3") == name


def test_names_sort_as_they_are_read_and_fit_on_disk(tmp_path: Path) -> None:
    names = [file_name(number, 1_000, "😀" * 500, "opus") for number in range(1, 1_001)]
    longest = tmp_path / f".{names[-1]}.01234567.part"

    assert names == sorted(names)
    assert len(set(names)) == 1_000
    assert names[0].startswith("0001 😀")
    longest.write_bytes(b"")
    assert longest.exists()


def test_the_list_is_read_as_it_was_written() -> None:
    files = [
        ChapterFile(number, title, file_name(number, 2, title, "mp3"), object_name(number, "mp3"), 9, "ab", 1.5)
        for number, title in enumerate(('A "b"', "Ü"), 1)
    ]

    assert decode_chapter_files(encode_chapter_files("mp3", files)) == tuple(files)
    assert decode_chapter_files(encode_chapter_files("mp3", [])) == ()


def test_a_listed_file_is_an_artifact_beside_its_list() -> None:
    file = ChapterFile(3, "C", "03 C.mp3", object_name(3, "mp3"), 9, "ab", 1.5)
    made = as_artifact(file, LISTING)

    assert made == ArtifactRecord("03 C.mp3", "mp3", "jobs/t/job_1/artifacts/7/chapter-0003.mp3", 9, "ab", 1.5, "s")
    assert check_key(made.key)
    assert is_listed(made.key, LISTING)
    for other in ("artifacts/8/chapter-0003.mp3", "artifacts/7/chapter-0003.flac", "artifacts/7/narration.mp3"):
        assert not is_listed(f"jobs/t/job_1/{other}", LISTING)
