"""A data folder of every release is opened by this one: nothing in it is lost, and what was begun is finished.

`data_folders/make.py` makes the folders, with the code of the release. Whoever raises `LAYOUT` writes the migration
that these tests then need, or the promise in docker/UPGRADING.md is broken.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rhapsode import Rhapsode
from rhapsode.contract.segments import SegmentState
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.layout import LAYOUT
from tests.rhapsode.conftest import clean_environment

FOLDERS = Path(__file__).parent / "data_folders"
RELEASES = sorted(path.stem for path in FOLDERS.glob("*.json"))


@dataclass(frozen=True, slots=True)
class Opened:
    """facts: what `make.py` put into the folder, by kind."""

    client: Rhapsode
    folder: Path
    facts: dict[str, Any]


@pytest.fixture(scope="module", params=RELEASES)
def opened(request: pytest.FixtureRequest, run_dir: Path) -> Iterator[Opened]:
    folder = run_dir / f"data-{request.param}"
    folder.mkdir(mode=0o700)
    with tarfile.open(FOLDERS / f"{request.param}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    facts = json.loads((FOLDERS / f"{request.param}.json").read_text())
    options = StackOptions(folder, has_local_webhooks=True)
    with Stack(options, clean_environment(), lambda event: None) as stack:
        stack.wait_ready()
        with Rhapsode(stack.url) as client:
            yield Opened(client, folder, facts)


def test_the_folder_is_of_this_layout_from_now_on(opened: Opened) -> None:
    assert (opened.folder / "layout").read_text() == f"{LAYOUT}\n"


def test_what_was_narrated_is_there_byte_for_byte(opened: Opened, tmp_path: Path) -> None:
    told = opened.client.job(opened.facts["told"])

    assert (told.title, told.state) == ("Wind", "succeeded")
    for name, sha256 in opened.facts["files"].items():
        path = opened.client.download(told, name, tmp_path / name)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    lines = list(opened.client.batches.results(opened.facts["batch"]))
    assert [(line.custom_id, line.state) for line in lines] == [(f"line-{n}", "succeeded") for n in range(3)]


def test_what_was_begun_is_finished_and_nothing_is_spoken_twice(opened: Opened) -> None:
    client, paused = opened.client, opened.facts["paused"]
    before = {each.id: each.sha256 for each in client.segments.list(paused, {SegmentState.DONE})}

    client.resume(paused)
    ended = client.wait(paused).raise_unless_succeeded()

    after = {each.id: each.sha256 for each in client.segments.list(paused)}
    assert 2 <= len(before) < len(after) == 16
    assert {name: after[name] for name in before} == before
    assert ended.progress.segments.done == 16


def test_what_waited_for_its_time_is_spoken(opened: Opened) -> None:
    """The folder is older than the ten minutes that it was to wait."""
    opened.client.wait(opened.facts["scheduled"]).raise_unless_succeeded()


def test_an_old_narration_is_edited(opened: Opened) -> None:
    client, told = opened.client, opened.facts["told"]
    before = {each.index: each.sha256 for each in client.segments.list(told)}

    client.segments.edit(told, 2, text="They met at dusk.")
    client.wait(told).raise_unless_succeeded()

    after = {each.index: each for each in client.segments.list(told)}
    assert [index for index, each in after.items() if each.sha256 != before[index]] == [2]
    assert (after[1].text, after[2].text) == ("The sun was hot.", "They met at dusk.")


def test_belongings_are_there(opened: Opened) -> None:
    client, facts = opened.client, opened.facts

    assert client.voices.get(facts["voice"]).name == "Grandmother"
    assert b"midday" in client.dictionaries.export(facts["dictionary"], 1)
    assert client.webhooks.get(facts["endpoint"]).url == "http://127.0.0.1:9/in"
    assert client.quotas.read("acme").limits.jobs == 7
    assert [key.id for key in client.keys.list("acme")] == [facts["key"]["id"]]
    with Rhapsode(client.server_url, api_key=facts["key"]["secret"]) as acme:
        assert list(acme.jobs()) == [], "a tenant of its own"


def test_counters_say_what_is_there(opened: Opened) -> None:
    assert opened.client.operations.audit().drift == ()
