"""`rhapsode bench` on the CPU, with the small voice: what a machine without a GPU is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rhapsode.bench.engine.report import BenchReport
from tests.rhapsode.conftest import CLI, RunCli, clean_environment


def test_a_cpu_is_measured_and_the_report_says_of_what(tmp_path: Path) -> None:
    file = tmp_path / "report.json"

    command = [CLI, "bench", "--device", "cpu", "--streams", "1,2", "--minutes", "0.7", "--json", str(file)]
    told = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)

    report = BenchReport.read(file)
    (model,) = report.models
    assert told.returncode == 0, told.stderr
    assert (report.ended, model.weights) == ("complete", "small voice")
    assert [row.streams for row in model.closed_loop] == [1, 2]
    assert all(row.audio_s_per_s > 0 for row in model.closed_loop)
    assert "the small voice, which is tiny: these are no figures of a published model" in told.stdout
    assert "small voice: 2 streams ..." in told.stderr
    assert "positions" not in told.stdout


def test_what_makes_no_sense_is_refused_in_one_line(run_cli: RunCli) -> None:
    for arguments, said in (
        (("--device", "tpu"), "--device: 'tpu' is neither cpu nor a GPU"),
        (("--device", "cuda:0,cuda:1"), "name one device"),
        (("--device", "cuda:99"), "cuda:99 is not on this machine"),
        (("--device", "cpu", "--streams", "many"), "is not a list of numbers"),
        (("--device", "cpu", "--streams", "0"), "from 1 to 1024"),
        (("--device", "cpu", "--size", "1.7b"), "--size is for random weights on a GPU"),
        (("--size", "7b"), "--size: '7b' is not one of 0.6b, 1.7b"),
    ):
        told = run_cli("bench", *arguments)

        assert told.returncode == 2
        assert said in told.stderr
        assert len(told.stderr.splitlines()) == 1
