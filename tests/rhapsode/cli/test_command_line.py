"""The command line as a stranger meets it: help, and one line for each mistake. No server is involved."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from rhapsode.cli.main import command_line
from tests.rhapsode.conftest import CLI, RunCli
from worker.engine.vllm.supported_versions import installed


def assert_one_line(outcome: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    assert outcome.returncode == status, outcome.stderr
    assert outcome.stdout == ""
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.startswith("rhapsode: ")
    for word in words:
        assert word in outcome.stderr


def _commands(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, (*path, name))
        else:
            yield *path, name


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    group = typer.main.get_command(command_line())
    assert isinstance(group, TyperGroup)
    commands = list(_commands(group))

    assert len(commands) > 60
    for command in commands:
        # Not a process each, as for what follows: there are many, and what they say is the same.
        group.main([*command, "--help"], prog_name="rhapsode", standalone_mode=False)
        assert capsys.readouterr().out.strip().startswith(" ".join(("Usage: rhapsode", *command)))


def test_the_version_is_told(run_cli: Any) -> None:
    assert run_cli("--version").stdout.startswith("rhapsode 0.")


def test_the_package_runs_as_the_command_does() -> None:
    outcome = subprocess.run([sys.executable, "-m", "rhapsode", "plan"], capture_output=True, text=True, check=False)

    assert outcome.returncode == 2
    assert "Missing argument" in outcome.stderr


def test_an_early_ctrl_c_is_as_quiet_as_a_late_one() -> None:
    early = """
import sys

class Interrupting:
    def find_spec(name, path, target=None):
        if name == "rhapsode.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting)
from rhapsode.__main__ import main
main()
"""
    outcome = subprocess.run([sys.executable, "-c", early], capture_output=True, text=True, check=False)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "", "")


def test_help_loads_neither_a_client_nor_a_server_library() -> None:
    heavy = "{'torch', 'numpy', 'celery', 'redis', 'boto3', 'fastapi', 'httpx', 'pydantic', 'rich.progress'}"

    assert _loaded("from rhapsode.cli.main import command_line; command_line()", heavy) == "[]"


def test_what_is_said_loads_neither_other_commands_nor_the_whole_client() -> None:
    # Each of these takes a part of the time to the first sound.
    heavy = "{'websockets', 'rhapsode.client.calls', 'rhapsode.client.sync.client', 'rhapsode.cli.narrate.narrate'}"
    program = """
from rhapsode.cli.main import command_line
command_line(["say"])
import rhapsode.cli.live.players, rhapsode.cli.servers, rhapsode.client.sync.connections, rhapsode.client.sync.speaking
"""

    assert _loaded(program, heavy) == "[]"


def _loaded(program: str, modules: str) -> str:
    question = f"{program}\nimport sys; print(sorted({modules} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    return answer.stdout.strip()


def test_a_missing_file_is_one_line_and_status_2(run_cli: Any) -> None:
    assert_one_line(run_cli("narrate", "nowhere.txt"), 2, "nowhere.txt", "no such file")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no text"),
        (b" \n\t\n", "holds no text"),
        (b"\xef\xbb\xbf", "holds no text"),
        (b"RIFF\x00\x00", "is a recording"),
        (b"Hello\x00\x00\x00", "NUL bytes at offset 5"),
        (b"{\\rtf1 Hello.}", "is a rich text (RTF); use text, Markdown"),
    ],
)
def test_what_is_no_text_is_one_line_and_status_2(run_cli: Any, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "book.txt").write_bytes(content)

    assert_one_line(run_cli("narrate", "book.txt"), 2, "book.txt", words)
    assert_one_line(run_cli("narrate", "-", input=content), 2, "standard input", words)


def test_a_pipe_is_read_in_unicode_alone(run_cli: Any) -> None:
    assert_one_line(
        run_cli("narrate", "-", input="Grüße".encode("latin-1")), 2, "at byte 2; name its encoding with --encoding"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("book.mobi", "a book for Kindle; make an EPUB of it"),
        ("book.AZW3", "a book for Kindle; make an EPUB of it"),
        ("book.doc", "a document of an old Word; save it as .docx"),
        ("book.odt", "a document of LibreOffice; save it as .docx"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(run_cli: Any, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_bytes(b"Hello.")

    assert_one_line(run_cli("plan", name), 2, name, words)


def test_a_folder_is_no_text(run_cli: Any) -> None:
    assert_one_line(run_cli("narrate", "."), 2, "folder")
    assert_one_line(run_cli("narrate", ""), 2, "FILE is empty")


def test_an_existing_output_is_not_replaced_unasked(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("Hello.")
    (tmp_path / "book.wav").write_bytes(b"precious")

    assert_one_line(run_cli("narrate", "book.txt"), 2, "book.wav exists", "--force")
    assert (tmp_path / "book.wav").read_bytes() == b"precious"


def test_an_output_that_cannot_be_written_is_refused_before_the_work(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("Hello.")

    assert_one_line(run_cli("narrate", "book.txt", "-o", "nowhere/book.wav"), 2, "nowhere is not a folder")
    assert_one_line(run_cli("narrate", "book.txt", "-o", "."), 2, "is a folder")
    # Root may write everywhere, but not here.
    assert_one_line(run_cli("narrate", "book.txt", "-o", f"{'long' * 62}.wav"), 2, "cannot be written")
    assert [path.name for path in tmp_path.iterdir()] == ["book.txt"]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (("--bitrate", "96"), "wav has no bitrate"),
        (("-o", "a.mp3", "--bitrate", "321"), "--bitrate: 321 is not between 1 and 320"),
        (("--sample-rate", "44101"), "--sample-rate: 44101 is not one of 8000, 11025"),
        (("--loudness", "-7"), "--loudness: -7 is not between -40 and -8"),
        (("--loudness", "nan"), "--loudness: 'nan' is neither a number nor \"none\""),
        (("--temperature", "2.5"), "--temperature: 2.5 is not between 0 and 2"),
        (("--temperature", "0.0001"), "--temperature: must be 0 or at least 0.001"),
        (("--top-k", "0"), "--top-k: 0 is not between 1 and 1000"),
        (("--top-p", "0"), "--top-p: 0 is not above 0 and at most 1"),
        (("--repetition-penalty", "0.9"), "--repetition-penalty: 0.9 is not between 1 and 2"),
        (("--attempts", "11"), "--attempts: 11 is not between 1 and 10"),
        (("--seed", "-1"), "--seed: -1 is not between 0"),
        (("--gate", "loose"), "'loose' is not one of 'off', 'basic', 'asr'"),
        (("--on-exhausted", "weep"), "'keep_best', 'keep_best_or_gap', 'silence', 'fail'"),
        (("--priority", "urgent"), "'high', 'normal', 'low'"),
        (("--deadline", "tomorrow"), "--deadline: 'tomorrow' is not a time"),
        (("--not-before", "2026-12-01T25:00"), "--not-before: '2026-12-01T25:00' is not a time"),
        (("--webhook", "me"), "'me' is neither an address"),
        (("--webhook", f"https://example.org/{'x' * 3000}"), "--webhook: string should have at most 2048 characters"),
        (("--destination", "Books"), "--destination: must be folders of lower-case letters"),
        (("--destination", "job_1"), "--destination: no folder may begin with job_"),
        (("--voice", ""), "--voice: string should have at least 1 character"),
        (("--speaker", f"{'x' * 300}=slt"), "--speaker: string should have at most 200 characters"),
        (("--instructions", "gently " * 300), "--instructions: string should have at most 2000 characters"),
    ],
)
def test_what_no_server_could_make_is_refused_before_one_is_started(
    run_cli: Any, wish: tuple[str, ...], words: str
) -> None:
    assert_one_line(run_cli("narrate", "-", *wish, input=b"Hello."), 2, words)


def test_the_command_line_starts_without_pydantic() -> None:
    # With the contract's help and types in it. typer itself loads pydantic later, for a command's values.
    program = "import sys; sys.modules['pydantic'] = None; from rhapsode.cli.main import command_line; command_line()"

    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stderr


def test_the_options_of_narrate_are_told_by_theme(run_cli: Any) -> None:
    said = run_cli("narrate", "--help-all").stdout

    headings = [line.partition(";")[0].rstrip(":") for line in said.splitlines() if line[:1].isalpha()]
    assert headings == [
        "Usage: rhapsode narrate [OPTIONS] FILE",
        "Arguments",
        "Options",
        "Voice and text",
        "Sampling",
        "Quality checks",
        "Schedule and webhook",
        "Audio files",
        "Tags",
        "Server",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full here")
def test_a_full_standard_output_is_one_line_and_status_1(run_cli: Any, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = subprocess.run([CLI, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert (outcome.returncode, outcome.stderr) == (1, "rhapsode: standard output: No space left on device\n")


def test_an_unknown_option_is_status_2(run_cli: Any) -> None:
    assert_one_line(run_cli("narrate", "--loud", "book.txt"), 2, "--loud", "`rhapsode narrate --help` says more")


def test_a_server_url_that_is_none_is_status_2(run_cli: Any) -> None:
    assert_one_line(run_cli("jobs", "list", "--server", "localhost"), 2, "http(s)://")
    assert_one_line(run_cli("jobs", "list", "--server", "http://localhost:65536"), 2, "65535")


def test_where_nothing_ever_answered_nobody_waits_long(run_cli: Any) -> None:
    """`run_cli` kills a command that takes two minutes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))

        outcome = run_cli("jobs", "list", "--server", f"http://127.0.0.1:{taken.getsockname()[1]}")

        assert_one_line(outcome, 1, "no answer from http://127.0.0.1")


def test_options_of_a_stack_of_ones_own_are_refused_where_another_serves(run_cli: Any) -> None:
    outcome = run_cli("narrate", "-", "--slots", "3", "--server", "http://127.0.0.1:1", input=b"Hello.")

    assert_one_line(outcome, 2, "--slots", "has its own value")


def test_limits_that_are_none_are_status_2(run_cli: Any) -> None:
    assert_one_line(run_cli("quotas", "set", "acme"), 2, "no limit to set", "quotas reset")


def test_a_setting_that_makes_no_sense_names_its_variable(run_cli: Any) -> None:
    assert_one_line(run_cli("jobs", "list", env={"RHAPSODE_PORT": "eighty"}), 2, "RHAPSODE_PORT")


def test_without_a_server_jobs_says_how_to_get_one(run_cli: Any) -> None:
    assert_one_line(run_cli("jobs", "list"), 1, "rhapsode up", "--server")


def test_a_state_that_is_none_is_status_2(run_cli: Any) -> None:
    assert_one_line(run_cli("jobs", "list", "--state", "done"), 2, "'done'", "succeeded")


def test_other_machines_are_not_let_in_without_keys(run_cli: Any) -> None:
    assert_one_line(run_cli("up", "--host", "0.0.0.0"), 1, "RHAPSODE_API_KEYS")


def test_a_misspelt_setting_stops_the_start_and_names_the_closest(run_cli: Any) -> None:
    outcome = run_cli("up", "--port", "0", env={"RHAPSODE_SLOT": "3"})

    assert outcome.returncode == 2
    assert "RHAPSODE_SLOTS" in outcome.stderr.splitlines()[-1]


def test_a_checkpoint_that_is_none_is_status_2(run_cli: Any) -> None:
    assert_one_line(run_cli("up", "--checkpoint", "nowhere"), 2, "nowhere is not a folder")
    assert_one_line(run_cli("narrate", "-", "--checkpoint", ".", input=b"Hello."), 2, "lacks config.json")


def test_a_data_folder_that_cannot_be_made_is_one_line(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "share").write_text("in the way")

    assert_one_line(run_cli("up", "--port", "0"), 1, "share/rhapsode", "--data-dir")


def test_an_unexpected_error_is_one_line_with_its_log(tmp_path: Path) -> None:
    bug = "from rhapsode.cli.failures import failures_in_one_line\nwith failures_in_one_line(): 1 / 0"
    environment = {"RHAPSODE_DATA_DIR": str(tmp_path)}

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", bug]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment | more)

    assert_one_line(run(), 1, "unexpected ZeroDivisionError", "RHAPSODE_DEBUG=1", str(tmp_path / "logs" / "cli.log"))
    assert "Traceback" in (tmp_path / "logs" / "cli.log").read_text()
    assert "Traceback" in run(RHAPSODE_DEBUG="1").stderr


def test_doctor_finds_what_is_missing_and_fails(run_cli: Any, tmp_path: Path) -> None:
    outcome = run_cli("doctor", "--checkpoint", str(tmp_path))

    assert outcome.returncode == 1
    assert "MISSING  checkpoint" in outcome.stdout
    assert "->" in outcome.stdout
    assert "ok       Valkey" in outcome.stdout


@pytest.mark.skipif(installed() is not None, reason="vLLM is installed here")
def test_doctor_says_how_to_get_the_vllm_engine_to_who_chose_it(run_cli: Any) -> None:
    chosen = run_cli("doctor", env={"RHAPSODE_ENGINE": "vllm"})

    assert chosen.returncode == 1
    assert "MISSING  vLLM" in chosen.stdout
    assert ".venv-vllm/bin/pip install" in chosen.stdout


def test_doctor_is_content_with_a_complete_machine(run_cli: Any, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "vocab.json", "merges.txt", "speech_tokenizer/config.json"):
        path = tmp_path / "voice" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")

    for checkpoint in ("voice", "kokoro", "small_voice"):
        outcome = run_cli("doctor", "--checkpoint", checkpoint)

        assert outcome.returncode == 0, outcome.stdout
        assert "MISSING" not in outcome.stdout
        assert f"/{checkpoint}\n" in outcome.stdout or checkpoint == "voice"
    assert installed() is not None or "vLLM" not in outcome.stdout


def test_calibration_says_in_one_line_what_it_lacks(run_cli: RunCli, tmp_path: Path) -> None:
    nowhere = run_cli("calibrate", str(tmp_path / "nowhere"), "--language", "english")
    unknown = run_cli("calibrate", str(tmp_path), "--language", "klingon")

    assert (nowhere.returncode, len(nowhere.stderr.splitlines())) == (2, 1)
    assert (unknown.returncode, len(unknown.stderr.splitlines())) == (1, 1)
    assert "no text comes along for klingon, only for chinese, english" in unknown.stderr
