"""The compose files against the specification, against the settings, and against what the processes need to end."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from compose_spec import PyCompose

from rhapsode.cli.local.run import ProcessKind
from rhapsode.stack.layout import DataDir
from rhapsode.stack.planning.plan import PlannedProcess
from rhapsode.stack.process_names import CPU_WORKER, GPU_WORKER, HOOKS_WORKER, JANITOR
from rhapsode.stack.processes import spec_of
from storage.runtime.config.settings import load_settings
from tests.docker import compose_file
from tests.docker.conftest import DOCKER
from tests.storage.objects.embedded_s3 import find_weed
from worker.settings import DecoderSettings, WorkerSettings

GPU_FILE = DOCKER / "compose.gpu.yaml"
GPUS_FILE = DOCKER / "compose.gpus.yaml"
DECODER_FILE = DOCKER / "compose.decoder.yaml"
TLS_FILE = DOCKER / "compose.tls.yaml"
GPU_VARIABLES = {"CHECKPOINT": "/models/Qwen3-TTS-12Hz-1.7B-CustomVoice"}
OURS = {kind.value: kind for kind in ProcessKind} | {"speech-worker": ProcessKind.GPU_WORKER}


def test_both_files_are_what_the_specification_says(compose: dict[str, Any]) -> None:
    gpu = compose_file.load(GPU_FILE, GPU_VARIABLES)

    parsed = PyCompose.from_json(json.dumps(compose))
    PyCompose.from_json(json.dumps(gpu))

    assert set(parsed.service_names()) >= {"api", "speech-worker", "cpu-worker", "hooks-worker", "janitor"}
    with pytest.raises(ValueError, match="reed_only"):
        PyCompose.from_json(json.dumps({"services": {"api": {"image": "x", "reed_only": True}}}))


def test_https_leads_to_services_that_there_are_under_names_that_are_given(compose: dict[str, Any]) -> None:
    names = {"SITE": "speech.example.org", "FILES_SITE": "files.example.org"}
    over = compose_file.load(TLS_FILE, names)
    both = compose_file.overlaid(compose, over)
    caddyfile = (DOCKER / "Caddyfile").read_text()

    PyCompose.from_json(json.dumps(both))

    assert set(re.findall(r"\{\$(\w+)\}", caddyfile)) == over["services"]["caddy"]["environment"].keys()
    for service, port in re.findall(r"reverse_proxy (\S+):(\d+)", caddyfile):
        assert f"127.0.0.1:{port}:{port}" in both["services"][service]["ports"]
        assert set(both["services"][service]["networks"]) & set(both["services"]["caddy"]["networks"])
    api = both["services"]["api"]["environment"]
    assert api["RHAPSODE_PUBLIC_URL"] == "https://speech.example.org"
    assert api["RHAPSODE_S3_PUBLIC_ENDPOINT"] == "https://files.example.org"
    for name in names:
        with pytest.raises(KeyError, match=name):
            compose_file.load(TLS_FILE, {other: "x" for other in names if other != name})


def test_every_service_of_ours_is_confined_probed_limited_and_becomes_a_process_that_exists(
    compose: dict[str, Any],
) -> None:
    for name in OURS.keys() & compose["services"].keys():
        service = compose["services"][name]

        assert service["command"][0] == OURS[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["restart"] == "unless-stopped"
        dockerfile = (DOCKER.parent / service["build"]["dockerfile"]).read_text()
        assert "healthcheck" in service or "HEALTHCHECK" in dockerfile
    for service in compose["services"].values():
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}


def test_a_service_that_is_told_to_stop_gets_the_time_that_the_supervisor_gives_it(compose: dict[str, Any]) -> None:
    shared = {"RHAPSODE_SLOTS": "16"}
    data_dir = DataDir(Path("/nowhere"))
    kinds = {"speech-worker": GPU_WORKER, **{kind: kind for kind in (CPU_WORKER, HOOKS_WORKER, JANITOR)}}
    specs = {name: spec_of(PlannedProcess(kind, 0, 1, 1), shared, data_dir) for name, kind in kinds.items()}

    for name, spec in specs.items():
        grace_s = int(compose["services"][name]["stop_grace_period"].removesuffix("s"))
        assert grace_s > spec.grace_s


def test_what_is_mounted_exists_and_every_secret_is_drawn(compose: dict[str, Any], drawn_secrets: Path) -> None:
    known = compose["secrets"]
    for secret in known.values():
        assert (drawn_secrets / Path(secret["file"]).name).is_file()

    for name, service in compose["services"].items():
        assert set(service.get("secrets", ())) <= known.keys()
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (DOCKER / source).exists(), f"{name}: {source}"


def test_published_ports_are_this_machines_alone(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", ())]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_state_is_reached_from_inside_alone(compose: dict[str, Any]) -> None:
    services = compose["services"]

    assert compose["networks"]["inside"]["internal"] is True
    assert services["valkey"]["networks"] == ["inside"]
    assert "ports" not in services["valkey"]
    assert {name for name in OURS if "outside" in services.get(name, {}).get("networks", ())} == {"api", "hooks-worker"}


def test_with_a_gpu_the_same_worker_has_another_image_device_and_checkpoint(compose: dict[str, Any]) -> None:
    gpu = compose_file.overlaid(compose, compose_file.load(GPU_FILE, GPU_VARIABLES))

    service = gpu["services"]["speech-worker"]

    assert service["build"] == {
        "context": "..",
        "dockerfile": "docker/worker.Dockerfile",
        "args": {"VARIANT": "cuda"},
    }
    assert service["read_only"] is True
    assert f"{GPU_VARIABLES['CHECKPOINT']}:/models/checkpoint:ro" in service["volumes"]
    named = {
        name.removeprefix("RHAPSODE_").lower(): value
        for name, value in service["environment"].items()
        if name.startswith("RHAPSODE_") and not name.endswith("_FILE") and value is not None  # the host's: unset here
    }
    settings = WorkerSettings.model_validate(named)
    assert (settings.device, settings.slots, settings.model_name) == ("cuda:0", 256, "qwen3-tts")
    with pytest.raises(KeyError, match="CHECKPOINT"):
        compose_file.load(GPU_FILE, {})


def test_a_decoder_apart_is_confined_and_agrees_with_its_speech_worker(
    compose: dict[str, Any], drawn_secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = compose_file.load(DECODER_FILE, GPU_VARIABLES)
    gpu = compose_file.overlaid(compose, compose_file.load(GPU_FILE, GPU_VARIABLES))
    everything = compose_file.overlaid(gpu, over)
    speaking, decoding = (everything["services"][name] for name in ("speech-worker", "decoder-worker"))

    PyCompose.from_json(json.dumps(over))
    like = everything["services"]["cpu-worker"]
    for key in ("image", "build", "restart", "init", "read_only", "tmpfs", "cap_drop", "security_opt", "networks"):
        assert decoding[key] == like[key], key
    assert decoding["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}
    assert set(speaking["secrets"]) == {*gpu["services"]["cpu-worker"]["secrets"], *decoding["secrets"]}
    assert {volume.split(":")[0] for volume in decoding["volumes"][:-1]} <= everything["volumes"].keys()
    assert decoding["volumes"][-1] in speaking["volumes"]
    address = Path(everything["secrets"]["decoder"]["file"])
    monkeypatch.setenv("RHAPSODE_DECODER_DEVICE_FILE", str(drawn_secrets / address.name))
    loaded = list[WorkerSettings]()
    for service, settings_class in ((speaking, WorkerSettings), (decoding, DecoderSettings)):
        assert service["environment"]["RHAPSODE_DECODER_DEVICE_FILE"] == "/run/secrets/decoder"
        with monkeypatch.context() as patch:
            for name, value in service["environment"].items():
                if name.startswith("RHAPSODE_") and not name.endswith("_FILE") and value is not None:
                    patch.setenv(name, str(value))
            loaded.append(load_settings(settings_class))
    speech, decoder = loaded
    for name in ("decoders", "engine_profile", "engine_threads", "checkpoint"):
        assert getattr(speech, name) == getattr(decoder, name), name
    assert (speech.device, decoder.device, decoder.engine_threads) == ("cuda:0", "cpu", 8)
    assert [str(each) for each in decoder.decoders] == ["ws://decoder-worker:7777/cpu"]


def test_the_object_server_knows_every_option_that_it_is_given(compose: dict[str, Any]) -> None:
    command, *options = compose["services"]["s3"]["command"]

    said = subprocess.run([find_weed(), command, "-h"], capture_output=True, text=True, check=False)
    known = set(re.findall(r"^  -([a-zA-Z0-9.]+)", said.stdout + said.stderr, re.MULTILINE))

    assert {option.removeprefix("-").partition("=")[0] for option in options} <= known


def test_secrets_are_drawn_once_and_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    command = [sys.executable, DOCKER / "draw_secrets.py", tmp_path / "secrets"]

    first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kept = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    second = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert first.endswith(f"12 secrets drawn; the operator's key is in {tmp_path}/secrets/operator_key\n")
    assert second.startswith("0 secrets drawn")
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == kept
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert kept["operator_key"] not in kept["api_keys.json"]


def test_each_further_gpu_has_a_worker_like_the_first(compose: dict[str, Any]) -> None:
    with_one = compose_file.overlaid(compose, compose_file.load(GPU_FILE, GPU_VARIABLES))
    first = with_one["services"]["speech-worker"]
    further = compose_file.load(GPUS_FILE, GPU_VARIABLES)
    everything = compose_file.overlaid(with_one, further)

    PyCompose.from_json(json.dumps(further))
    for number in range(1, 8):
        worker = dict(further["services"][f"speech-worker-{number}"])
        profiles, networks = worker.pop("profiles"), worker.pop("networks")
        (device,) = worker["deploy"]["resources"]["reservations"]["devices"]

        assert worker.keys() == first.keys() - {"networks"}
        for key in worker.keys() - {"volumes", "deploy"}:
            assert worker[key] == first[key], key
        assert worker["deploy"]["resources"]["limits"] == first["deploy"]["resources"]["limits"]
        assert device == {"driver": "nvidia", "capabilities": ["gpu"], "device_ids": [str(number)]}
        own = [volume.replace(f"speech-scratch-{number}:", "speech-scratch:") for volume in worker["volumes"]]
        assert own == first["volumes"]
        assert f"speech-scratch-{number}" in everything["volumes"]
        assert list(networks) == first["networks"]
        assert networks["inside"]["aliases"] == ["speech-worker"]
        sizes = {"two-gpus": 2, "four-gpus": 4, "eight-gpus": 8}
        assert profiles == [name for name, size in sizes.items() if number < size]
