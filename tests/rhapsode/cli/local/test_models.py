"""`rhapsode models` against a hub on this machine, which serves a tiny checkpoint in the published layout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rhapsode.cli.local.doctor import models_that_fit
from rhapsode.stack.errors import ModelNotPulled
from rhapsode.stack.layout import DataDir
from rhapsode.stack.models import BYTES_OF_SIZE, PUBLISHED, slots_on, with_checkpoints
from rhapsode.stack.planning.gpus import TorchGpu
from tests.command_line import CLI
from tests.rhapsode.cli.local.local_hub import LFS_FROM, LocalHub, serving
from tests.rhapsode.conftest import RunCli, StartCli, clean_environment
from tests.tiny_checkpoint import make_checkpoint
from worker.engine.cuda.memory_plan import plan_slots_of_card
from worker.engine.errors import CheckpointError
from worker.engine.loading import describe_checkpoint
from worker.engine.model.pulled import RECORD
from worker.engine.serving.parts import DeviceMemory, SlotMemory

ROOT = Path(__file__).resolve().parents[4]
NAME = "qwen3-tts-0.6b-customvoice"
WEIGHTS = "model.safetensors"
PARTS = ".parts"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    folder = tmp_path_factory.mktemp("published")
    make_checkpoint(folder, "tiny", "custom_voice", 5, 0.0)
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def hub(files: Mapping[str, bytes]) -> Iterator[LocalHub]:
    with serving(LocalHub({PUBLISHED[NAME]: files})) as hub:
        yield hub


@pytest.fixture
def environment(hub: LocalHub, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "", "RHAPSODE_DATA_DIR": "data"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "models" / NAME


def pulled_files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.name != RECORD
    }


def test_a_model_is_pulled_once_listed_verified_found_and_removed(
    hub: LocalHub, files: Mapping[str, bytes], environment: dict[str, str], folder: Path, run_cli: RunCli
) -> None:
    first = run_cli("models", "pull", NAME, env=environment)
    fetched = len(hub.sent)
    again = run_cli("models", "pull", NAME, env=environment)
    pinned = run_cli("models", "pull", NAME, "--revision", hub.commit, env=environment | {"HF_HUB_OFFLINE": "1"})

    assert (first.returncode, again.returncode, pinned.returncode) == (0, 0, 0), first.stderr
    assert "licence apache-2.0" in first.stderr
    assert "GB to download" in first.stderr
    assert f"RHAPSODE_CHECKPOINT={NAME}" in first.stdout
    assert pulled_files(folder) == files
    assert (fetched, len(hub.sent)) == (len(files), len(files))
    record = json.loads((folder / RECORD).read_text())
    assert (record["version"], record["revision"], record["licence"]) == (1, hub.commit, "apache-2.0")
    assert set(record["files"]) == set(files)

    assert f"here, revision {hub.commit[:8]}" in run_cli("models", "list", env=environment).stdout
    assert run_cli("models", "verify", env=environment).stdout == f"{NAME}: every file is as it was downloaded\n"
    assert describe_checkpoint(folder).model == NAME
    named = {"RHAPSODE_CHECKPOINT": NAME, "RHAPSODE_CHECKPOINTS": f"/models/other, {NAME}"}
    assert with_checkpoints(named, DataDir(folder.parent.parent)) == {
        "RHAPSODE_CHECKPOINT": str(folder),
        "RHAPSODE_CHECKPOINTS": f"/models/other,{folder}",
    }

    verified = run_cli("models", "verify", "--json", env=environment).stdout
    assert json.loads(verified) == {"name": NAME, "faults": []}
    pulled = run_cli("models", "pull", NAME, "--json", env=environment).stdout
    assert json.loads(pulled) == {"name": NAME, "folder": str(folder)}

    removed = run_cli("models", "rm", NAME, "--json", env=environment)
    assert json.loads(removed.stdout) == {"name": NAME, "removed": True}
    assert not folder.exists()


def test_a_folder_named_from_here_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "small_voice"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    named = {"RHAPSODE_CHECKPOINT": "small_voice", "RHAPSODE_CHECKPOINTS": "mine,./mine,nowhere"}

    assert with_checkpoints(named, DataDir(tmp_path)) == {
        "RHAPSODE_CHECKPOINT": "small_voice",
        "RHAPSODE_CHECKPOINTS": f"{tmp_path}/mine,{tmp_path}/mine,nowhere",
    }


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_download_continues(
    hub: LocalHub, files: Mapping[str, bytes], environment: dict[str, str], folder: Path,
    start_cli: StartCli, run_cli: RunCli, signum: int,
) -> None:  # fmt: skip
    # huggingface_hub writes pieces of 10 MiB.
    hub.files = {PUBLISHED[NAME]: {"large.bin": os.urandom(12 << 20), **files}}
    hub.stall_after = 11 << 20
    begun = start_cli("models", "pull", NAME, env=environment | {"HF_HUB_DOWNLOAD_TIMEOUT": "600"})
    assert hub.stalled.wait(60)
    while not (sizes := [part.stat().st_size for part in (folder / PARTS).glob("?" * 64)]) or not sizes[0]:
        assert begun.poll() is None
    begun.send_signal(signum)
    _, said = begun.communicate()
    listed = run_cli("models", "list", env=environment).stdout

    assert (begun.returncode, said.splitlines()[-1]) == (
        128 + signum,
        f"rhapsode: interrupted; `rhapsode models pull {NAME}` continues",
    )
    assert "incomplete: pull it again" in listed
    with pytest.raises(ModelNotPulled, match=f"rhapsode models pull {NAME}"):
        with_checkpoints({"RHAPSODE_CHECKPOINT": NAME}, DataDir(folder.parent.parent))

    hub.stall_after = None
    hub.sent.clear()
    again = run_cli("models", "pull", NAME, env=environment)

    assert again.returncode == 0, again.stderr
    assert pulled_files(folder) == hub.files[PUBLISHED[NAME]]
    assert hub.sent[0] == ("large.bin", 10 << 20)


@pytest.mark.parametrize("damage", ["changed", "truncated", "removed"])
def test_a_file_that_is_not_as_it_was_pulled_is_found_and_fetched_again(
    hub: LocalHub, files: Mapping[str, bytes], environment: dict[str, str], folder: Path, run_cli: RunCli, damage: str
) -> None:
    assert run_cli("models", "pull", NAME, env=environment).returncode == 0
    weights = folder / WEIGHTS
    before = weights.stat()
    data = bytearray(files[WEIGHTS])
    data[-1] ^= 1
    if damage == "removed":
        weights.unlink()
    else:
        weights.write_bytes(data if damage == "changed" else data[:-100])
        # What a disk does leaves the time as it was.
        os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))

    verified = run_cli("models", "verify", NAME, env=environment)
    with pytest.raises(CheckpointError, match=WEIGHTS):
        describe_checkpoint(folder)
    hub.sent.clear()
    pulls = [run_cli("models", "pull", NAME, env=environment) for _ in range(2)]

    assert (verified.returncode, verified.stderr.count("\n")) == (1, 1)
    assert WEIGHTS in verified.stderr
    assert pulls[-1].returncode == 0, pulls[-1].stderr
    assert (pulled_files(folder), hub.sent) == (files, [(WEIGHTS, 0)])


def test_bytes_that_are_not_those_that_the_hub_lists_are_not_used(
    hub: LocalHub, environment: dict[str, str], folder: Path, run_cli: RunCli
) -> None:
    hub.damage = WEIGHTS
    outcome = run_cli("models", "pull", NAME, env=environment)

    assert (outcome.returncode, (folder / RECORD).exists(), (folder / WEIGHTS).exists()) == (1, False, False)
    assert outcome.stderr.splitlines()[-1] == (
        f"rhapsode: {WEIGHTS} has not the digest that the hub lists; run the command again"
    )
    hub.damage = ""
    assert run_cli("models", "pull", NAME, env=environment).returncode == 0


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        ((401, ""), "refuses access (401): HF_TOKEN is wrong, or the repository needs one"),
        ((403, "GatedRepo"), "has it behind terms (403): accept them on its page there, and set HF_TOKEN"),
        ((404, "RepoNotFound"), "does not have it (404)"),
        ((404, "RevisionNotFound"), "does not have it (404)"),
    ],
)
def test_what_the_hub_refuses_is_said_in_one_line(
    hub: LocalHub, environment: dict[str, str], folder: Path, run_cli: RunCli, refusal: tuple[int, str], sentence: str
) -> None:
    hub.refusal = refusal
    outcome = run_cli("models", "pull", NAME, env=environment)

    assert (outcome.returncode, outcome.stderr) == (1, f"rhapsode: {PUBLISHED[NAME]}: {hub.url} {sentence}\n")
    assert not folder.exists()


def test_a_token_is_sent(hub: LocalHub, environment: dict[str, str], run_cli: RunCli) -> None:
    hub.token = "hf_right"
    wrong = run_cli("models", "pull", NAME, env=environment | {"HF_TOKEN": "hf_wrong"})
    right = run_cli("models", "pull", NAME, env=environment | {"HF_TOKEN": "hf_right"})

    assert (wrong.returncode, wrong.stderr.count("\n"), right.returncode) == (1, 1, 0)
    assert "(401)" in wrong.stderr


def test_too_little_room_is_said_before_anything_is_written(
    hub: LocalHub, environment: dict[str, str], tmp_path: Path, run_cli: RunCli
) -> None:
    hub.size_told = 10**17
    outcome = run_cli("models", "pull", NAME, env=environment)

    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[-1].startswith("rhapsode: not enough room: ")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"HF_ENDPOINT": "http://127.0.0.1:1"},
            "cannot be fetched from http://127.0.0.1:1; run the command again to continue: ",
        ),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE"),
    ],
)
def test_without_a_network_one_line_says_so(
    environment: dict[str, str], run_cli: RunCli, settings: dict[str, str], sentence: str
) -> None:
    outcome = run_cli("models", "pull", NAME, env=environment | settings)

    assert (outcome.returncode, outcome.stderr.count("\n")) == (1, 1)
    assert sentence in outcome.stderr


@pytest.mark.parametrize("command", ["pull", "verify", "rm"])
def test_an_unknown_name_is_refused_with_the_known_ones(run_cli: RunCli, command: str) -> None:
    outcome = run_cli("models", command, "../secrets")

    assert (outcome.returncode, outcome.stderr.count("\n")) == (2, 1)
    assert all(name in outcome.stderr for name in PUBLISHED)


def test_who_names_a_model_that_is_not_here_reads_the_command_that_fetches_it(
    run_cli: RunCli, environment: dict[str, str], tmp_path: Path
) -> None:
    named = environment | {"RHAPSODE_CHECKPOINT": NAME}
    (tmp_path / "text.txt").write_text("Hello.")
    outcomes = [
        run_cli("run", "gpu-worker", env=named),
        run_cli("up", "--port", "0", env=named),
        run_cli("narrate", "text.txt", "-o", "text.wav", env=named),
        run_cli("up", "--checkpoint", NAME, env=environment),
        run_cli("calibrate", NAME, "--language", "english", env=environment),
    ]
    doctor = run_cli("doctor", env=named)

    for outcome in outcomes:
        assert outcome.returncode == 1
        assert f"the model {NAME} is not on this machine: rhapsode models pull {NAME}" in outcome.stderr
    assert f"-> rhapsode models pull {NAME}" in doctor.stdout


def test_up_pulls_a_model_whose_name_follows_pull_and_speaks_with_it(
    environment: dict[str, str], files: Mapping[str, bytes], folder: Path, start_cli: StartCli
) -> None:
    named = {"RHAPSODE_CHECKPOINT": f"pull:{NAME}", "RHAPSODE_ENGINE": "native", "RHAPSODE_LOG_FORMAT": "json"}
    begun = start_cli("up", "--port", "0", "--device", "cpu", env=environment | named)
    assert begun.stderr is not None
    said = list[dict[str, Any]]()
    for line in begun.stderr:
        said.append(json.loads(line))
        if said[-1]["event"] in ("ready", "not started"):
            break
    begun.send_signal(signal.SIGINT)
    begun.communicate()

    assert (begun.returncode, said[-1]["model"], pulled_files(folder)) == (0, NAME, files)
    assert "licence apache-2.0" in said[0]["event"]
    assert "GB to download" in said[1]["event"]


def test_doctor_tells_a_model_that_up_will_pull_from_a_name_that_nobody_publishes(
    environment: dict[str, str], run_cli: RunCli
) -> None:
    later, unknown = (
        run_cli("doctor", env=environment | {"RHAPSODE_CHECKPOINT": f"pull:{name}"}).stdout for name in (NAME, "qwen")
    )
    refused = run_cli("up", "--port", "0", env=environment | {"RHAPSODE_CHECKPOINT": "pull:qwen"})

    assert f"note     checkpoint       the model {NAME} is not on this machine" in later
    assert "MISSING  checkpoint       qwen is no published model" in unknown
    assert (refused.returncode, refused.stderr) == (1, "rhapsode: qwen is no published model: rhapsode models list\n")


@pytest.mark.parametrize("answer", ["n", "y"])
def test_up_asks_on_a_terminal_before_it_pulls_a_model(
    environment: dict[str, str], folder: Path, tmp_path: Path, answer: str
) -> None:
    ours, theirs = os.openpty()
    # Without keys it ends soon after the answer: it refuses this host.
    command = [CLI, "up", "--host", "0.0.0.0", "--port", "0", "--checkpoint", NAME]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=clean_environment(**environment)
    ) as begun, open(ours, "r+b", buffering=0) as terminal:  # fmt: skip
        os.close(theirs)
        said = b""
        while b"Download it now? [y/N]: " not in said:
            said += terminal.read(1024)
        existed = folder.exists()
        terminal.write(f"{answer}\n".encode())
        with suppress(OSError):  # how the end of a terminal is read
            while more := terminal.read(1024):
                said += more

    assert (begun.returncode != 0, existed, (folder / RECORD).exists()) == (True, False, answer == "y")
    assert said.index(b"licence apache-2.0") < said.index(b"GB to download") < said.index(b"Download it now?")
    assert (f"rhapsode models pull {NAME}" in said.decode()) == (answer == "n")
    assert ("RHAPSODE_API_KEYS" in said.decode()) == (answer == "y")


@pytest.mark.parametrize("gib", [12, 16, 24, 48, 80, 141])
@pytest.mark.parametrize("size", ["0.6b", "1.7b"])
def test_doctor_knows_as_many_slots_as_a_worker_plans_from_the_same_memory(gib: int, size: str) -> None:
    beside = BYTES_OF_SIZE[size] + 10**9
    here = DeviceMemory(SlotMemory(80 << 30, (80 << 30) - beside - (10 << 30), 2048, 114_692), lambda total: total // 8)

    assert abs(slots_on(gib << 30, size) - plan_slots_of_card(gib << 30, 1024, here).num_slots) <= 1


def test_the_page_of_one_gpu_box_shows_the_planned_slots() -> None:
    page = (ROOT / "docs/tutorials/one-gpu-box.md").read_text()

    for size in BYTES_OF_SIZE:
        planned = [str(slots_on(gib << 30, size)) for gib in (8, 12, 24, 80, 140)]
        assert f"| {size.upper()} | {' | '.join(planned)} |" in page


def test_doctor_says_which_size_fits_a_gpu() -> None:
    small, decoder = models_that_fit(TorchGpu(name="T400", memory_bytes=4 << 30))
    (large,) = models_that_fit(TorchGpu(name="H100", memory_bytes=80 << 30))

    assert "1.7b does not fit" in small.detail
    told = next(
        line for line in (ROOT / "benchmarks/README.md").read_text().splitlines() if "4 / 8 / 16 CPU cores" in line
    )
    assert decoder.detail.startswith("RHAPSODE_DECODER_DEVICE=cpu ")
    assert all(pace in decoder.detail and pace in told for pace in ("6.4", "7.9", "9.1"))
    assert "on H100: 0.6b fits with about 427 slots (unset: 256 and 171 live), 1.7b fits with about 415" in large.detail


def test_a_checkpoint_of_another_family_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    for name in ("model.safetensors", "speech_tokenizer/config.json", "speech_tokenizer/model.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")

    with pytest.raises(CheckpointError, match=r"config\.json: model_type is 'llama', should be 'qwen3_tts'"):
        describe_checkpoint(tmp_path)


def test_a_mirror_that_has_another_family_under_the_name_is_refused_before_its_weights(
    hub: LocalHub, environment: dict[str, str], folder: Path, run_cli: RunCli
) -> None:
    hub.files = {PUBLISHED[NAME]: {"a.safetensors": bytes(LFS_FROM), "config.json": b'{"model_type": "llama"}'}}
    outcome = run_cli("models", "pull", NAME, env=environment)

    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[-1] == (
        f"rhapsode: {PUBLISHED[NAME]} is no checkpoint of Qwen3-TTS: its model_type is 'llama'"
    )
    assert [path for path, _ in hub.sent] == ["config.json"]
    assert not folder.exists()

    folder.mkdir(parents=True)
    (folder / WEIGHTS).write_bytes(b"of an earlier pull")
    assert run_cli("models", "pull", NAME, env=environment).returncode == 1
    assert [path.name for path in folder.iterdir() if path.is_file()] == [WEIGHTS]


def test_the_large_files_of_the_fixture_are_as_in_git_lfs(files: Mapping[str, bytes]) -> None:
    assert {path for path, data in files.items() if len(data) >= LFS_FROM} >= {WEIGHTS, f"speech_tokenizer/{WEIGHTS}"}
