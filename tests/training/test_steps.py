"""Every step of the recipe as a program."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.training.options import arguments
from training import train_speaker_encoder
from training.codec import quantizer
from training.corpus import text_tokenizer
from training.speech import synthesis
from training.steps import Unusable, log_file, run_step

ROOT = Path(__file__).parents[2]
STEPS = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in (ROOT / "training").rglob("*.py")
    if '__name__ == "__main__"' in file.read_text()
)


def test_every_step_explains_itself_and_is_on_the_page() -> None:
    # One interpreter for all of them: nearly all the time goes into importing torch.
    program = """
import runpy, sys
for module in sys.argv[1:]:
    sys.argv = [module, "--help"]
    try:
        runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        if not end.code:
            continue
    sys.exit(f"{module} did not end with its help")
"""
    outcome = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *STEPS], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert outcome.returncode == 0, outcome.stderr
    assert [step for step in STEPS if f"python -m {step} " not in outcome.stdout] == []
    page = (ROOT / "training" / "README.md").read_text()
    assert [step for step in STEPS if f"`python -m {step}`" not in page] == []


@pytest.mark.parametrize("step", [quantizer.main, train_speaker_encoder.main])
def test_a_folder_without_speech_is_named(step: Callable[[Sequence[str]], None], tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="holds no speech"):
        step(arguments(speech=tmp_path, out=tmp_path / "out.pt"))


def test_teachers_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"lacks usr/bin/festival, .*libflite\.so\.1"):
        synthesis.main(arguments(corpus=tmp_path / "corpus.tsv", voices=tmp_path, out=tmp_path / "speech"))


def test_what_cannot_be_done_ends_a_program_with_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "corpus.tsv"

    with pytest.raises(SystemExit, match=r"No such file.*corpus\.tsv"):
        run_step(lambda _: text_tokenizer.main(arguments(corpus=missing, out=tmp_path)))


def test_a_log_is_kept_beside_what_is_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("training.example")
    caplog.set_level(logging.INFO)

    with log_file(tmp_path / "log.txt"):
        logger.info("step %d", 1)
    logger.info("step %d", 2)

    assert (tmp_path / "log.txt").read_text().endswith("step 1\n")
