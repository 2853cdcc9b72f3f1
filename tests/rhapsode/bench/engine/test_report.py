"""What a report says, in a file and to a person."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rhapsode.bench.engine.report import BenchReport, plot, text_report
from rhapsode.bench.report import read_environment
from rhapsode.bench.statistics import cost_of_audio_hour, percentile
from tests.rhapsode.bench.engine.measured import loop, report


def test_a_report_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    report().write(tmp_path / "report.json")

    assert BenchReport.read(tmp_path / "report.json") == report()
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == "rhapsode.bench/1"


def test_a_report_of_another_schema_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    report().write(file)
    file.write_text(file.read_text().replace("rhapsode.bench/1", "rhapsode.bench/2"))

    with pytest.raises(ValidationError):
        BenchReport.read(file)


def test_the_text_has_each_row_in_order_with_its_cost_and_what_failed() -> None:
    lines = text_report(report()).splitlines()

    assert lines[0] == "NVIDIA H100, 80 GiB, capability 9.0, torch 2.11.0, Rhapsode 0.1.0 (0123456789ab)"
    cells = [line.split() for line in lines]
    assert cells.index(["1", "30.0", "30.00", "20.0", "0.0667"]) < cells.index(
        ["256", "1,400.4", "5.47", "20.0", "0.0014"]
    )
    assert "first audio alone: 9.0 ms, p95 9.9 ms (3 samples)" in lines
    assert "first audio beside 32 streams: 16.0 ms, p95 16.9 ms (3 samples)" in lines
    assert "      8 GiB  12 slots of 1,024 positions" in lines
    assert "      4 GiB  does not fit" in lines
    assert "FAILED  512 streams: OutOfMemoryError: CUDA out of memory" in lines
    assert "left out  64 streams: the time was over" in lines


def test_an_interrupted_run_says_so() -> None:
    interrupted = report().model_copy(update={"ended": "interrupted"})

    assert text_report(interrupted).splitlines()[-1] == "The run was interrupted after 290 s: this is what there was."


def test_bars_are_as_long_as_the_rates() -> None:
    half, whole = plot([loop(8, 50.0), loop(16, 100.0)])

    assert (half.count("█"), whole.count("█")) == (20, 40)


def test_an_hour_of_audio_costs_an_hour_of_the_device_divided_by_its_speed() -> None:
    assert cost_of_audio_hour(2.5, 1000.0) == 0.0025


@settings(deadline=None, derandomize=True)
@given(values=st.lists(st.floats(0, 1e6), min_size=1), share=st.floats(0, 1))
def test_percentiles_are_numpys(values: list[float], share: float) -> None:
    assert percentile(values, share) == pytest.approx(np.percentile(values, 100 * share), abs=1e-6)


def test_of_nothing_there_is_no_percentile() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        percentile([], 0.5)


def test_the_environment_names_the_command_and_the_checkout() -> None:
    found = read_environment(["rhapsode", "bench", "--json", "a b.json"])

    assert found.command == "rhapsode bench --json 'a b.json'"
    assert found.cores >= 1
    assert found.commit is None or len(found.commit) in {12, 13}
