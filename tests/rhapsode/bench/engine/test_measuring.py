"""The program that measures one engine, on checkpoints of every kind, as `rhapsode bench` starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from rhapsode.bench.engine.measuring import cards
from rhapsode.bench.engine.report import Card, EngineTask
from tests.tiny_checkpoint import make_checkpoint
from worker.engine.serving.parts import DeviceMemory, SlotMemory

GIB = 1 << 30


PROGRAM = "rhapsode.bench.engine.measuring"
BRIEFLY = "tests.rhapsode.bench.engine.measuring_briefly"


def said(
    folder: Path, draw_size: str | None, program: str = PROGRAM, seconds: float = 200.0
) -> list[dict[str, object]]:
    task = EngineTask(
        checkpoint=str(folder),
        draw_size=draw_size,
        device="cpu",
        profile="balanced",
        precision="bfloat16",
        slots=2,
        streams=(4,),
        first_running=(0,),
        frames=(3, 6),
        seconds=seconds,
    )
    outcome = subprocess.run(
        [sys.executable, "-m", program, json.dumps(asdict(task))], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


@pytest.mark.parametrize("variant", ["base", "custom_voice", "voice_design"])
def test_a_checkpoint_of_any_kind_is_measured(variant: str, tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "given", "tiny", variant)

    messages = said(tmp_path / "given", None, BRIEFLY)

    kinds = [message["kind"] for message in messages]
    assert kinds == ["device", "begins", "started", "begins", "first_audio", "begins", "closed_loop"]
    assert messages[-1]["streams"] == 2


def test_random_weights_are_drawn_whole_or_not_at_all(tmp_path: Path) -> None:
    messages = said(tmp_path / "drawn", "tiny", BRIEFLY, seconds=0.5)

    assert (tmp_path / "drawn" / "speech_tokenizer" / "model.safetensors").is_file()
    assert not (tmp_path / "drawn.partial").exists()
    assert [message["kind"] for message in messages][-3:] == ["started", "left_out", "left_out"]


def test_what_is_no_checkpoint_is_said_once_and_for_all(tmp_path: Path) -> None:
    *_, last = said(tmp_path / "absent", None)

    assert (last["kind"], last["is_final"]) == ("failed", True)
    assert "there is no checkpoint directory" in str(last["error"])


def memory(free_bytes: int) -> DeviceMemory:
    """Of a device of 80 GiB, with a codec that takes the same on all."""
    return DeviceMemory(SlotMemory(80 * GIB, free_bytes, 2048, 114_692), lambda _: GIB)


def test_slots_of_other_cards_are_those_that_an_engine_would_plan() -> None:
    beside = 6 * GIB
    here = memory(80 * GIB - beside)

    assert cards(here, 516) == (Card(8, 12, 1024), Card(16, 63, 1024), Card(24, 115, 1024), Card(48, 268, 1024))
    assert cards(memory(71 * GIB), 516)[0] == Card(8, 0, 0)
    assert cards(None, 516) == ()
