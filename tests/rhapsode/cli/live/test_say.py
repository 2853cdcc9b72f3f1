"""`rhapsode say`: what it asks for, what it leaves, and how it ends."""

from __future__ import annotations

import json
import signal
import threading
import wave
from pathlib import Path

import pytest

from tests.rhapsode.client.live.socket_server import FRAME, Served, serving
from tests.rhapsode.conftest import RunCli, ScriptedServer, StartCli

PCM = {"Content-Type": "audio/pcm", "X-Sample-Rate": "24000", "X-Model": "small_voice", "X-Voice": "slt"}
CONTACT: tuple[int, dict[str, str], object] = (200, {}, {"status": "ok"})
"""The first answer: whether anything listens there."""

PATIENCE_S = 60.0
SAVED = ("--save", "x.wav", "--no-play")


def scripted(script: ScriptedServer, status: int, body: object, headers: dict[str, str]) -> dict[str, str]:
    """The environment of a command that this server answers: first whether it is there."""
    script.answer(200, {"status": "ok"})
    script.answer(status, body, headers)
    return {"RHAPSODE_SERVER_URL": script.url}


def test_what_is_said_is_saved_with_its_true_sizes(run_cli: RunCli, script: ScriptedServer, tmp_path: Path) -> None:
    env = scripted(script, 200, "ab" * 24_000, PCM)

    run = run_cli("say", "Hello.", "--voice", "slt", "--speed", "1.5", "--seed", "7", *SAVED, env=env)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("x.wav: 1.0 s of speech, first audio after 0.")
    assert run.stdout.endswith(" s, model small_voice, voice slt\n")
    with wave.open(str(tmp_path / "x.wav")) as wav:
        assert wav.readframes(wav.getnframes()) == b"ab" * 24_000
    assert json.loads(script.received[1].body) == {
        "input": "Hello.",
        "voice": "slt",
        "speed": 1.5,
        "seed": 7,
        "stream": True,
        "response_format": "pcm",
    }


def test_a_program_gets_the_facts_as_json(run_cli: RunCli, script: ScriptedServer) -> None:
    run = run_cli("say", "Hello.", *SAVED, "--json", env=scripted(script, 200, "ab" * 24_000, PCM))

    facts = json.loads(run.stdout)
    assert facts.pop("first_audio_s") > 0
    assert facts == {"path": "x.wav", "audio_s": 1.0, "model": "small_voice", "voice": "slt", "findings": []}


def test_a_refusal_is_one_line_and_leaves_no_file(run_cli: RunCli, script: ScriptedServer, tmp_path: Path) -> None:
    refusal = {"error": {"message": "no voice is called bob", "code": "voice_not_found", "param": "voice"}}

    run = run_cli("say", "Hello.", *SAVED, env=scripted(script, 404, refusal, {}))

    assert run.returncode == 1
    assert run.stderr == "rhapsode: no voice is called bob [404 voice_not_found]\n"
    assert list(tmp_path.glob("*.wav")) + list(tmp_path.glob(".*.part")) == []


def test_a_stream_that_breaks_leaves_the_file_as_it_was(
    run_cli: RunCli, script: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "x.wav").write_bytes(b"of before")
    script.answer(200, {"status": "ok"})
    script.cut(b"ab" * 100, PCM)

    run = run_cli("say", "Hello.", *SAVED, "--force", env={"RHAPSODE_SERVER_URL": script.url})

    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "the speech broke off before its end" in run.stderr
    assert (tmp_path / "x.wav").read_bytes() == b"of before"


def test_ctrl_c_ends_it_at_once_and_saves_nothing(start_cli: StartCli, tmp_path: Path) -> None:
    is_heard = threading.Event()

    def speak_on(served: Served) -> None:
        served.open()
        served.whole_text()
        served.start()
        served.line.send(FRAME)
        is_heard.set()
        served.until_gone()

    with serving(speak_on, CONTACT) as server:
        run = start_cli("say", "-", *SAVED, input="Hello.", env={"RHAPSODE_SERVER_URL": server.url})
        assert is_heard.wait(PATIENCE_S)
        run.send_signal(signal.SIGINT)

        assert run.wait(PATIENCE_S) == 130
        assert server.served[0].is_gone.wait(PATIENCE_S)
    assert run.stderr is not None
    assert run.stderr.read() == ""
    assert [path for path in tmp_path.iterdir() if "wav" in path.name] == []


def test_a_text_without_anything_to_hear_is_told(run_cli: RunCli, script: ScriptedServer, tmp_path: Path) -> None:
    run = run_cli("say", "…", *SAVED, env=scripted(script, 200, "", PCM))

    assert (run.returncode, run.stderr) == (1, "rhapsode: this text has no speech\n")
    assert not (tmp_path / "x.wav").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("Hello.", "--no-play"), "otherwise the speech is lost"),
        (("Hello.", "--save", "x.mp3"), "is not a .wav file"),
        (("Hello.", "--save", "nowhere/x.wav"), "nowhere is not a folder"),
        (("Hello.", "--save", "old.wav"), "old.wav exists; --force replaces it"),
        (("Hello.", "--speed", "9", "--no-play"), "--speed"),
        ((" ", *SAVED), "the text is empty"),
        (("-", *SAVED), "standard input has no text to say"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_a_server_is_asked(
    run_cli: RunCli, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "old.wav").write_bytes(b"of before")

    run = run_cli("say", *arguments, env={"RHAPSODE_SERVER_URL": "http://127.0.0.1:9"})

    assert run.returncode == 2
    assert told in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_pipe_is_said_word_by_word(run_cli: RunCli, tmp_path: Path) -> None:
    def answer(served: Served) -> None:
        served.open()
        served.whole_text()
        served.start()
        served.line.send(FRAME)
        served.done(1)

    with serving(answer, CONTACT) as server:
        run = run_cli("say", "-", *SAVED, input="Größe und Güte".encode(), env={"RHAPSODE_SERVER_URL": server.url})

    assert run.returncode == 0, run.stderr
    assert "".join(each.get("text", "") for each in server.served[0].received) == "Größe und Güte"
    with wave.open(str(tmp_path / "x.wav")) as wav:
        assert wav.readframes(wav.getnframes()) == FRAME
