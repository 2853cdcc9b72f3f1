"""`rhapsode bench --url`: what is typed, what is told, and how it ends."""

from __future__ import annotations

from pathlib import Path

from rhapsode.bench.server.orders import TextLevel
from rhapsode.bench.server.report import ServerReport
from tests.rhapsode.bench.server.speech_servers import Manner, speech_server
from tests.rhapsode.conftest import RunCli

SHORT = ("--seconds", "1", "--warm-up", "0.2")


def test_a_server_is_measured_and_told_of_as_a_table_and_as_json(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    manner = Manner()
    loads = ("--streams", "1,2", "--rates", "4", "--arrivals", "even")

    with speech_server("vllm-omni", manner) as url:
        asked = ("--url", f"{url}/v1", "--target", "vllm-omni", "--param", "seed=7", "--voice", "ryan", "--price", "2")
        told = run_cli("bench", *asked, *loads, *SHORT, "--json", str(file))

    report = ServerReport.read(file)
    assert told.returncode == 0, told.stderr
    assert [stage.load.name for stage in report.stages] == ["1 stream", "2 streams", "4 a second"]
    assert (report.ended, report.asked.url, report.asked.parameters) == ("complete", url, {"seed": 7})
    assert report.environment.command.startswith("rhapsode bench --url")
    assert {(body["seed"], body["voice"]) for body in manner.heard} == {(7, "ryan")}
    assert "2 streams ..." in told.stderr
    assert f"{url} as vllm-omni (ryan)" in told.stdout
    assert "An hour of audio costs" in told.stdout


def test_a_server_that_is_not_there_is_one_line(run_cli: RunCli) -> None:
    told = run_cli("bench", "--url", "http://127.0.0.1:9", "--quick")

    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith("rhapsode: http://127.0.0.1:9: ")
    assert len(told.stderr.splitlines()) == 1


def test_a_server_without_speech_is_one_line(run_cli: RunCli) -> None:
    with speech_server("nari", Manner(fails_after=0)) as url:
        told = run_cli("bench", "--url", url, "--target", "nari")

    assert (told.returncode, told.stdout) == (1, "")
    assert "does not speak as nari: 503" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_key_goes_to_whom_it_is_named_for_and_into_no_report(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    with speech_server("openai", Manner()) as url:
        asked = ("bench", "--url", url, "--target", "openai", "--streams", "1", *SHORT, "--json", str(file))
        told = run_cli(*asked, "--key-from", "THEIRS", env={"THEIRS": "hush", "RHAPSODE_API_KEY": "ours"})

    assert told.returncode == 0, told.stderr
    assert "hush" not in file.read_text() + told.stdout + told.stderr


def test_two_reports_are_compared(run_cli: RunCli, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    with speech_server("nari", Manner()) as url:
        asked = ("bench", "--url", url, "--target", "nari", "--streams", "1", *SHORT)
        for file in files:
            told = run_cli(*asked, "--json", file)
            assert told.returncode == 0, told.stderr

    compared = run_cli("bench", "--compare", *files)

    assert compared.returncode == 0, compared.stderr
    assert "first sound, median" in compared.stdout
    assert "1 stream" in compared.stdout


def test_what_is_said_is_judged_and_kept_where_it_was_asked_for(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    with speech_server("nari", Manner()) as url:
        asked = ("bench", "--url", url, "--target", "nari", "--streams", "1", *SHORT, "--json", str(file))
        told = run_cli(*asked, "--quality", "2", "--recordings", str(tmp_path / "kept"))

    assert told.returncode == 0, told.stderr
    assert "the same again" in told.stdout
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["001.wav", "002.wav"]
    quality = ServerReport.read(file).quality
    assert quality is not None
    assert len(quality.samples) == 2


def test_a_task_without_what_it_needs_is_one_line(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "voice.wav").write_bytes(b"RIFF")
    for arguments, said in (
        (("--task", "voice-design"), "voice-design needs --instructions"),
        (("--task", "x-vector"), "x-vector needs --reference"),
        (("--task", "in-context", "--reference", "voice.wav"), "need each other"),
        (("--task", "custom-voice", "--reference-text", "So."), "need each other"),
        (("--task", "sing"), "--task"),
        (("--reference", "voice.wav"), "--reference"),
        (("--whisper", "."), "--whisper needs --quality"),
        (("--task", "x-vector", "--reference", "voice.wav", "--target", "kokoro"), "kokoro does not support x-vector"),
    ):
        told = run_cli("bench", "--url", "http://127.0.0.1:9", *arguments)
        assert (told.returncode, len(told.stderr.splitlines())) == (2, 1), told.stderr
        assert said in told.stderr


def test_a_recording_goes_with_each_request_and_into_no_report(run_cli: RunCli, tmp_path: Path) -> None:
    file, manner = tmp_path / "report.json", Manner()
    (tmp_path / "voice.wav").write_bytes(b"RIFF" + bytes(100))
    with speech_server("vllm-omni", manner) as url:
        asked = ("bench", "--url", url, "--target", "vllm-omni", "--task", "in-context", "--streams", "1", *SHORT)
        told = run_cli(
            *asked, "--reference", str(tmp_path / "voice.wav"), "--reference-text", "So.", "--json", str(file)
        )

    assert told.returncode == 0, told.stderr
    assert all(str(body["ref_audio"]).startswith("data:audio/wav;base64,UklGR") for body in manner.heard)
    report = ServerReport.read(file)
    assert (report.asked.task, report.asked.reference_text) == ("in-context", "So.")
    assert report.asked.reference_sha256
    assert "UklGR" not in file.read_text()


def test_a_measurement_goes_on_from_its_report(run_cli: RunCli, tmp_path: Path) -> None:
    file, manner = tmp_path / "report.json", Manner()
    with speech_server("nari", manner) as url:
        asked = ("bench", "--url", url, "--target", "nari", *SHORT, "--json", str(file))
        first = run_cli(*asked, "--streams", "1", "--continue")
        before = len(manner.heard)
        second = run_cli(*asked, "--streams", "1,2", "--continue")
        other = run_cli(*asked, "--streams", "1,2,3", "--continue", "--seed", "7")

    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert [stage.load.name for stage in ServerReport.read(file).stages] == ["1 stream", "2 streams"]
    assert "1 stream ..." not in second.stderr
    assert len(manner.heard) > before
    assert (other.returncode, len(other.stderr.splitlines())) == (2, 1)
    assert "was measured with another seed" in other.stderr


PLANTED = 1.2
PIECE_S = 0.1
"""Of the speech servers below: what a busy machine adds is small beside it."""
GATE = ("bench", "--target", "nari", "--streams", "8", "--seconds", "2", "--warm-up", "0.2", "--worse-than", "1.1")


def test_the_gate_finds_a_planted_regression_of_a_fifth(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    with (
        speech_server("nari", Manner(pause_s=PLANTED * PIECE_S)) as slower,
        speech_server("nari", Manner(pause_s=PIECE_S)) as faster,
    ):
        told = run_cli(*GATE, "--url", slower, "--baseline", faster, "--json", str(file))

    assert told.returncode == 1, told.stderr
    assert "WORSE by more than 1.1 times: 8 streams: whole, median" in told.stdout
    found = ServerReport.read(file)
    assert found.baseline is not None
    assert (found.asked.url, found.baseline.asked.url) == (slower, faster)


def test_the_gate_passes_a_pair_that_is_equal(run_cli: RunCli) -> None:
    with (
        speech_server("nari", Manner(pause_s=PIECE_S)) as one,
        speech_server("nari", Manner(pause_s=PIECE_S)) as other,
    ):
        told = run_cli(*GATE, "--url", one, "--baseline", other)

    assert (told.returncode, "WORSE" in told.stdout) == (0, False), told.stdout


def test_a_report_is_a_baseline_and_its_loads_and_texts_are_measured_again(run_cli: RunCli, tmp_path: Path) -> None:
    asked = ("bench", "--target", "nari", *SHORT)
    with speech_server("nari", Manner(pause_s=0.002)) as faster, speech_server("nari", Manner(pause_s=0.06)) as slower:
        chosen = ("--streams", "6", "--lengths", "short", "--seed", "7", "--json", "earlier.json")
        run_cli(*asked, "--url", faster, *chosen)
        worse = run_cli(*asked, "--url", slower, "--baseline", "earlier.json", "--json", "new.json")
        better = run_cli(*asked, "--url", faster, "--baseline", "new.json")

    assert (worse.returncode, better.returncode) == (1, 0), worse.stderr + better.stderr
    assert "WORSE by more than 1.25 times: 6 streams: whole, median" in worse.stdout
    assert "not the same" not in worse.stdout
    found = ServerReport.read(tmp_path / "new.json")
    assert [stage.load.name for stage in found.stages] == ["6 streams"]
    assert (found.asked.levels, found.asked.seed) == ((TextLevel.SHORT,), 7)


def test_what_does_not_go_with_a_baseline_or_a_report_is_one_line(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("soon")
    for arguments, said in (
        (("--baseline", "http://127.0.0.1:9", "--ramp"), "--baseline excludes"),
        (("--baseline", "bad.txt"), "--baseline: bad.txt is not a report of a server"),
        (("--quick", "--continue"), "--quick excludes --continue"),
        (("--baseline", "there"), "--baseline: the server's URL is http(s)"),
        (("--worse-than", "2"), "--worse-than needs --baseline"),
        (("--continue",), "--continue needs --json"),
        (("--recorded", "bad.txt"), "--recorded: bad.txt: "),
    ):
        told = run_cli("bench", "--url", "http://127.0.0.1:9", *arguments)
        assert (told.returncode, len(told.stderr.splitlines())) == (2, 1), told.stderr
        assert said in told.stderr


def test_where_a_report_cannot_be_written_nothing_is_measured(run_cli: RunCli, tmp_path: Path) -> None:
    manner = Manner()
    with speech_server("nari", manner) as url:
        told = run_cli("bench", "--url", url, "--target", "nari", "--json", str(tmp_path / "no" / "report.json"))

    assert told.returncode == 1
    assert "No such file or directory" in told.stderr
    assert len(manner.heard) == 1, "the text that shows whether it speaks"


def test_what_is_no_report_is_not_compared(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff{}")

    for arguments, said in (
        (("--compare", "a.json", "a.json"), "--compare: a.json is not a report of a server (rhapsode.bench.server/1)"),
        (("--compare", "a.json", "a.json", "--price", "2"), "--compare takes no other option"),
        (("--compare", "a.json"), "2 arguments"),
    ):
        told = run_cli("bench", *arguments)
        assert told.returncode == 2
        assert said in told.stderr
        assert len(told.stderr.splitlines()) == 1
    absent = run_cli("bench", "--compare", "nowhere.json", "a.json")
    assert (absent.returncode, absent.stderr) == (1, "rhapsode: nowhere.json: No such file or directory\n")


def test_what_makes_no_sense_is_refused_in_one_line(run_cli: RunCli) -> None:
    there = ("--url", "http://127.0.0.1:9")
    for arguments, said in (
        (("--url", "localhost:8765"), "--url: the server's URL is http(s)://host[:port]"),
        (("--rates", "3"), "--rates needs --url"),
        ((*there, "--device", "cpu"), "--device does not go with --url"),
        ((*there, "--target", "piper"), "--target: 'piper' is not one of rhapsode,"),
        ((*there, "--rates", "0"), "--rates: above 0"),
        ((*there, "--rates", "nan"), "--rates: above 0"),
        ((*there, "--rates", "many"), "is not a list of numbers"),
        ((*there, "--streams", "0"), "--streams: from 1 to 10000"),
        ((*there, "--lengths", "huge"), "--lengths: 'huge' is not one of short, medium, long"),
        ((*there, "--languages", "de"), "--languages: 'de' is not one of en, zh, mixed"),
        ((*there, "--param", "seed"), "--param: 'seed' is not NAME=VALUE"),
        ((*there, "--recordings", "kept"), "--recordings needs --quality"),
        ((*there, "--key-from", "NOWHERE"), "--key-from: NOWHERE is not set"),
    ):
        told = run_cli("bench", *arguments)

        assert told.returncode == 2, told.stderr
        assert said in told.stderr
        assert len(told.stderr.splitlines()) == 1
