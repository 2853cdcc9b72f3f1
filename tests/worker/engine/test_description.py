"""What a checkpoint is said to be before it is loaded is what its engine says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiny_checkpoint import make_checkpoint
from worker.engine.description import describe
from worker.engine.errors import CheckpointError
from worker.engine.native import NativeEngine
from worker.engine.settings import FakeEngineSettings, NativeEngineSettings
from worker.settings import SMALL_VOICE


def test_it_is_what_an_engine_says_but_for_its_slots(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "tiny", "tiny", "base", 3, 1.0)
    checkpoints = (SMALL_VOICE, tmp_path / "tiny")

    described = describe(checkpoints, NativeEngineSettings(SMALL_VOICE, slots=2))

    for checkpoint, info in zip(checkpoints, described, strict=True):
        engine = NativeEngine(NativeEngineSettings(checkpoint, slots=2))
        engine.close()
        own = replace(engine.info, slots=0, live_slots=0, takes_open_text=False, config_sha256="")
        assert info == own


def test_one_that_cannot_be_used_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=rf"^there is no checkpoint directory {tmp_path}/none$"):
        describe((SMALL_VOICE, tmp_path / "none"), NativeEngineSettings(SMALL_VOICE))


def test_the_fake_engine_has_no_checkpoints_to_read(tmp_path: Path) -> None:
    assert len(describe((tmp_path / "a", tmp_path / "b"), FakeEngineSettings())) == 2
