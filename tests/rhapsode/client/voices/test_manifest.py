"""Manifests of voices: read line by line, and refused by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rhapsode.client.voices.manifest import ManifestError, read_manifest


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    table = 'name,audio,ref_text,consent\nAda,a/ada.wav,"Hello, ""you"".\nAgain.",yes\nBo,bo.mp3,,\n'
    lines = (
        '{"name": "Ada", "audio": "a/ada.wav", "ref_text": "Hello, \\"you\\".\\nAgain.", "consent": "yes"}\n'
        '\n{"name": "Bo", "audio": "bo.mp3"}\n'
    )

    from_csv = read_manifest(written(tmp_path, "cast.csv", "\ufeff" + table))
    from_json = read_manifest(written(tmp_path, "cast.jsonl", lines))

    assert [each.entry for each in from_csv] == [each.entry for each in from_json]
    assert [each.recording for each in from_csv] == [tmp_path / "a/ada.wav", tmp_path / "bo.mp3"]
    assert [each.line for each in from_csv] == [3, 4]
    assert [each.line for each in from_json] == [1, 3]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("cast.csv", "", "no voice is listed"),
        ("cast.csv", "name,audio\n", "no voice is listed"),
        ("cast.csv", "name,audio\nAda\n", "line 2: audio: Field required"),
        ("cast.csv", "name,audio\nAda,a.wav,more\n", "line 2: more columns"),
        ("cast.csv", "name,audio,pitch\nAda,a.wav,3\n", "line 2: pitch: Extra inputs"),
        ("cast.csv", 'name,audio\nAda,"a.wav\n', "unexpected end"),
        ("cast.jsonl", "Ada", "line 1: not JSON"),
        ("cast.jsonl", '["Ada"]', "line 1: "),
        ("cast.jsonl", '{"name": "Ada", "audio": 3}', "line 1: audio: "),
        ("cast.jsonl", '{"name": "", "audio": "a.wav"}', "line 1: name: "),
    ],
)
def test_a_line_that_cannot_be_meant_is_named(name: str, text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=complaint):
        read_manifest(written(tmp_path, name, text))


def test_what_is_not_text_is_no_manifest(tmp_path: Path) -> None:
    path = tmp_path / "cast.csv"
    path.write_bytes(b"RIFF\xff\xff\xff\xffWAVE")

    with pytest.raises(ManifestError, match="UTF-8"):
        read_manifest(path)
