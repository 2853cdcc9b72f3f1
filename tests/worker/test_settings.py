"""The environment becomes values, or an error that names the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.jobs.work_queues import Lane
from storage.runtime.config.settings import SETTING_NAMES, SettingsError, describe, load_settings
from worker.engine.cores import usable_cores
from worker.engine.kokoro import files
from worker.engine.settings import (
    LIVE_SLOTS,
    DecoderAddress,
    FakeEngineSettings,
    KokoroEngineSettings,
    NativeEngineSettings,
    Precision,
    VllmEngineSettings,
)
from worker.settings import PACKAGED, CpuWorkerSettings, ItemSettings, WorkerSettings


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in SETTING_NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RHAPSODE_STORE", f"file://{tmp_path}")
    monkeypatch.setenv("RHAPSODE_URL_SECRET", "s" * 16)


def test_every_setting_is_known_to_all_processes() -> None:
    fields = {*WorkerSettings.model_fields, *ItemSettings.model_fields}

    assert {f"RHAPSODE_{name.upper()}" for name in fields} <= SETTING_NAMES


def test_kokoro_speaks_on_a_cpu_where_no_checkpoint_is_named() -> None:
    settings = load_settings(WorkerSettings)

    assert isinstance(settings.engine_settings(), KokoroEngineSettings)
    assert (settings.model_name, settings.notice) == ("kokoro", "")
    assert (settings.lane, load_settings(CpuWorkerSettings).lane) == (Lane.GPU, Lane.CPU)


@pytest.mark.parametrize(
    ("named", "slots"),
    [
        ({"RHAPSODE_DEVICE": "cuda:0"}, 256),
        ({"RHAPSODE_DEVICE": "cuda:0", "RHAPSODE_SLOTS": "7"}, 7),
        ({"RHAPSODE_DEVICE": "cuda:0", "RHAPSODE_ENGINE_REPRODUCIBILITY": "strict"}, 16),
        ({"RHAPSODE_CHECKPOINT": "small_voice"}, 16),
    ],
)
def test_the_small_voice_speaks_on_a_gpu_and_where_it_is_named(
    named: dict[str, str], slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(WorkerSettings)

    engine = settings.engine_settings()
    assert isinstance(engine, NativeEngineSettings)
    assert (engine.slots, engine.device) == (slots, named.get("RHAPSODE_DEVICE", "cpu"))
    assert (settings.model_name, settings.notice) == ("small_voice", "")


def test_the_engine_chooses_live_slots_that_are_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "small_voice")
    on_cpu = load_settings(WorkerSettings).engine_settings()
    monkeypatch.setenv("RHAPSODE_DEVICE", "cuda:0")
    on_gpu = load_settings(WorkerSettings).engine_settings()
    monkeypatch.setenv("RHAPSODE_LIVE_SLOTS", "7")
    as_set = load_settings(WorkerSettings).engine_settings()

    assert isinstance(on_cpu, NativeEngineSettings)
    assert isinstance(on_gpu, NativeEngineSettings)
    assert isinstance(as_set, NativeEngineSettings)
    assert (on_cpu.live_slots, on_cpu.few_live_slots) == (None, LIVE_SLOTS)
    assert on_gpu.live_slots is None
    assert (as_set.live_slots, as_set.few_live_slots) == (7, 7)


def test_without_kokoros_packages_the_small_voice_speaks_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PARTS", ("kokoro_that_is_not_here",))
    settings = load_settings(WorkerSettings)

    assert settings.model_name == "small_voice"
    assert settings.notice == (
        "The small voice speaks: the package kokoro_that_is_not_here is missing: pip install 'rhapsode[kokoro]'"
    )
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "small_voice")
    assert load_settings(WorkerSettings).notice == ""


def test_the_checkpoints_that_come_along_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "kokoro")
    settings = load_settings(WorkerSettings)

    cores = usable_cores()
    assert settings.engine_settings() == KokoroEngineSettings(PACKAGED["kokoro"], min(16, cores), min(4, cores))
    assert settings.model_name == "kokoro"
    assert settings.num_places == max(2, min(16, cores) * 3 // 2)
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "small_voice")
    assert isinstance(load_settings(WorkerSettings).engine_settings(), NativeEngineSettings)
    monkeypatch.delenv("RHAPSODE_CHECKPOINT")
    monkeypatch.setenv("RHAPSODE_CHECKPOINTS", "kokoro, small_voice")
    assert load_settings(WorkerSettings).other_checkpoints == {"small_voice": PACKAGED["small_voice"]}


@pytest.mark.parametrize(
    ("cores", "settings", "fronts"),
    [
        (7, {"SLOTS": "256"}, 1),
        (8, {"SLOTS": "256"}, 2),
        (64, {"SLOTS": "63"}, 1),
        (64, {"SLOTS": "256", "POSTPROCESSORS": "1"}, 1),
        (64, {"SLOTS": "256", "WHISPER_MODEL": "/models/whisper"}, 1),
    ],
)
def test_a_second_front_wants_cores_and_work(
    monkeypatch: pytest.MonkeyPatch, cores: int, settings: dict[str, str], fronts: int
) -> None:
    monkeypatch.setattr("worker.settings.usable_cores", lambda: cores)
    for name, value in settings.items():
        monkeypatch.setenv(f"RHAPSODE_{name}", value)

    assert load_settings(WorkerSettings).num_fronts == fronts


@pytest.mark.parametrize(("cores", "slots", "processes"), [(7, 256, 1), (8, 256, 2), (64, 63, 1)])
def test_a_second_live_process_wants_cores_and_slots(
    monkeypatch: pytest.MonkeyPatch, cores: int, slots: int, processes: int
) -> None:
    monkeypatch.setattr("worker.settings.usable_cores", lambda: cores)
    monkeypatch.setenv("RHAPSODE_SLOTS", str(slots))

    assert load_settings(WorkerSettings).num_live_processes == processes


def test_a_live_port_leaves_room_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_LIVE_PORT", "65535")

    with pytest.raises(SettingsError, match="RHAPSODE_LIVE_PORT"):
        load_settings(WorkerSettings)


def test_the_fake_engine_must_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_ENGINE", "fake")
    monkeypatch.setenv("RHAPSODE_FAKE_STEP_S", "0.5")

    settings = load_settings(WorkerSettings)

    assert settings.engine_settings() == FakeEngineSettings(slots=16, step_s=0.5)
    assert settings.model_name == "fake"


def test_a_name_can_be_given_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_MODEL", "narrator-2")

    assert load_settings(WorkerSettings).model_name == "narrator-2"


def test_nameless_workers_never_share_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    unnamed = load_settings(WorkerSettings)
    monkeypatch.setenv("RHAPSODE_WORKER_NAME", "gpu-0")

    assert unnamed.name_for("a" * 32) != unnamed.name_for("b" * 32)
    assert load_settings(WorkerSettings).name_for("a" * 32) == "gpu-0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RHAPSODE_SLOTS", "0"),
        ("RHAPSODE_LANE", "gpu"),
        ("RHAPSODE_ENGINE", "steam"),
        ("RHAPSODE_LEASE_S", "-1"),
        ("RHAPSODE_WORKER_NAME", "a b"),
        ("RHAPSODE_SLOT", "4"),
        ("RHAPSODE_DEVICE", "gpu0"),
    ],
)
def test_a_wrong_value_or_name_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=name):
        load_settings(WorkerSettings)


def test_the_vllm_engine_is_selected_by_its_name_and_promises_nothing_that_it_cannot_keep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RHAPSODE_ENGINE", "vllm")
    monkeypatch.setenv("RHAPSODE_SLOTS", "3")

    settings = load_settings(WorkerSettings)

    assert settings.engine_settings() == VllmEngineSettings(settings.checkpoint, slots=3)
    monkeypatch.setenv("RHAPSODE_ENGINE_REPRODUCIBILITY", "strict")
    with pytest.raises(SettingsError, match="vllm cannot be strict"):
        load_settings(WorkerSettings)


def test_decoders_apart_are_named_by_their_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "small_voice")
    for engine in ("native", "vllm"):
        monkeypatch.setenv("RHAPSODE_ENGINE", engine)
        monkeypatch.setenv("RHAPSODE_DECODER_DEVICE", "cuda:1, cpu")
        settings = load_settings(WorkerSettings).engine_settings()
        assert isinstance(settings, NativeEngineSettings | VllmEngineSettings)
        assert settings.decoder_devices == ("cuda:1", "cpu")
        monkeypatch.setenv("RHAPSODE_DECODER_DEVICE", "")
        assert load_settings(WorkerSettings).decoder_device == ()


def test_a_decoder_of_another_host_has_an_address_with_a_token_that_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = "secret-" * 6
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "small_voice")
    monkeypatch.setenv("RHAPSODE_DECODER_DEVICE", f"cpu, ws://:{token}@decoder:7777/cuda,ws://:{token}@[::1]:7777/cpu")
    settings = load_settings(WorkerSettings)
    local, named, numbered = settings.decoders

    assert local == "cpu"
    assert isinstance(named, DecoderAddress)
    assert isinstance(numbered, DecoderAddress)
    assert (str(named), named.host, named.port, named.kind) == ("ws://decoder:7777/cuda", "decoder", 7777, "cuda")
    assert (named.token, numbered.host) == (token, "::1")
    assert token not in f"{describe(settings)}{named!r}"
    assert "ws://***@decoder:7777/cuda" in f"{describe(settings)}"
    for wrong in (f"ws://{token}@decoder:7777/cpu", f"ws://:{token}@decoder:70000/cpu", f"http://:{token}@x:1/cpu"):
        monkeypatch.setenv("RHAPSODE_DECODER_DEVICE", wrong)
        with pytest.raises(SettingsError) as refused:
            load_settings(WorkerSettings)
        assert token not in str(refused.value)


@pytest.mark.parametrize(
    ("engine", "checkpoint", "device", "complaint"),
    [
        ("native", "small_voice", "cpu,gpu", "must be cpu, mps, cuda or cuda:N, not gpu"),
        ("native", "kokoro", "cpu", "RHAPSODE_DECODER_DEVICE: this engine has no decoder apart"),
        ("fake", "small_voice", "cpu", "RHAPSODE_DECODER_DEVICE: this engine has no decoder apart"),
    ],
)
def test_a_decoder_that_cannot_be_apart_is_refused(
    engine: str, checkpoint: str, device: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RHAPSODE_ENGINE", engine)
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", checkpoint)
    monkeypatch.setenv("RHAPSODE_DECODER_DEVICE", device)

    with pytest.raises(SettingsError, match=complaint):
        load_settings(WorkerSettings)


def test_eight_bits_are_for_the_native_engine_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_ENGINE_PRECISION", "float8")

    with pytest.raises(SettingsError, match="float8 is for the native engine on a GPU"):
        load_settings(WorkerSettings)

    monkeypatch.setenv("RHAPSODE_DEVICE", "cuda:1")
    settings = load_settings(WorkerSettings).engine_settings()
    assert isinstance(settings, NativeEngineSettings)
    assert {settings.kv_precision, settings.mlp_precision} == {Precision.FLOAT8}
    monkeypatch.setenv("RHAPSODE_ENGINE", "vllm")
    with pytest.raises(SettingsError, match="float8 is for the native engine on a GPU"):
        load_settings(WorkerSettings)


def test_of_several_checkpoints_the_first_is_loaded_first_and_each_is_named_by_its_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RHAPSODE_CHECKPOINTS", "/models/large, /models/small")

    first = load_settings(WorkerSettings)
    monkeypatch.setenv("RHAPSODE_CHECKPOINT", "/models/small")
    second = load_settings(WorkerSettings)

    assert (first.model_name, first.other_checkpoints) == ("large", {"small": Path("/models/small")})
    assert (second.model_name, second.other_checkpoints) == ("small", {"large": Path("/models/large")})


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("RHAPSODE_CHECKPOINTS", "/models/a,/others/a", "two are the same"),
        ("RHAPSODE_CHECKPOINT", "/models/c", "none of RHAPSODE_CHECKPOINTS"),
        ("RHAPSODE_MODEL", "narrator", "RHAPSODE_MODEL is for one model"),
    ],
)
def test_checkpoints_that_cannot_be_told_apart_are_refused(
    variable: str, value: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RHAPSODE_CHECKPOINTS", "/models/a,/models/b")
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsError, match=complaint):
        load_settings(WorkerSettings)


@pytest.mark.parametrize(("name", "after"), [("RHAPSODE_METRICS_PORT", ":9101"), ("RHAPSODE_LIVE_HOST", "")])
def test_a_host_that_no_resolver_takes_is_refused(name: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "h" * 64 + after)

    with pytest.raises(SettingsError, match=f"^{name}: its host has an empty part, or one of more than 63"):
        load_settings(WorkerSettings)


@pytest.mark.parametrize("folder", ["/none/such", "x" * 5_000])
@pytest.mark.parametrize("name", ["RHAPSODE_CHECKPOINT", "RHAPSODE_CHECKPOINTS"])
def test_a_checkpoint_that_is_not_there_is_refused_by_name(
    name: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, folder)

    with pytest.raises(SettingsError, match=f"^{name}: there is no folder {folder[:10]}"):
        load_settings(WorkerSettings).require_checkpoints()
