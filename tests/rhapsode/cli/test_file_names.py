"""Names that a server gives lead nowhere else."""

from __future__ import annotations

import pytest

from rhapsode.cli.failures import Misuse
from rhapsode.cli.file_names import plain_id, plain_name, titled
from rhapsode.errors import RhapsodeError


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "a\\b", "C:x", "..", ".bashrc", "", "a\nb", "a\x1b[2J"])
def test_a_name_that_leads_out_of_its_folder_is_refused(name: str) -> None:
    with pytest.raises(RhapsodeError, match="nothing is written"):
        plain_name(name)


def test_an_id_that_was_typed_names_no_other_place() -> None:
    assert plain_id("job_01k0") == "job_01k0"
    with pytest.raises(Misuse, match="is not an id"):
        plain_id("../job_01k0")


@pytest.mark.parametrize("name", ["narration.wav", "01 Loomings.mp3", "02 .. Ümlaut & 第一章.flac"])
def test_names_of_files_stay(name: str) -> None:
    assert plain_name(name) == name


@pytest.mark.parametrize(
    ("name", "title", "found"),
    [
        ("narration.wav", "Moby-Dick", "Moby-Dick.wav"),
        ("manifest.json", "Moby-Dick", "Moby-Dick - manifest.json"),
        ("01 Loomings.mp3", "Moby-Dick", "Moby-Dick - 01 Loomings.mp3"),
        ("narration.wav", "", "narration.wav"),
    ],
)
def test_files_begin_with_the_title(name: str, title: str, found: str) -> None:
    assert titled(name, title) == found
