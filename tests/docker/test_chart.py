"""The Helm chart, rendered by Helm's own code: what it makes is valid for Kubernetes, and for us."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import helm_python as helm
import kubernetes_validate
import pytest
import yaml

from generators.release import pack_chart
from rhapsode.cli.local.run import ProcessKind
from rhapsode.stack.models import PUBLISHED
from storage.live.address import MOST_ADDRESSES
from storage.runtime.config.settings import load_settings
from storage.runtime.observability.metric_catalogue import CATALOGUE
from tests.docker.conftest import DOCKER
from worker.engine.settings import DecoderAddress
from worker.settings import DecoderSettings, WorkerSettings

CHART = DOCKER / "helm" / "rhapsode"
KUBERNETES = "1.33"

MINIMAL: dict[str, Any] = {"store": {"url": "s3://audio/rhapsode"}, "secrets": {"existing": "rhapsode-secrets"}}
GPU_POOL = {
    "name": "qwen3-17b",
    "model": "qwen3-1.7b",
    "variant": "cuda",
    "device": "cuda:0",
    "slots": 256,
    "profile": "throughput",
    "replicas": 0,
    "maxReplicas": 8,
    "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "32Gi"}},
    "checkpoint": {"claim": "checkpoints", "subPath": "Qwen3-TTS-12Hz-1.7B-CustomVoice"},
    "drainSeconds": 60,
    "scaling": {"backlogAudioSeconds": 84000, "oldestWaitSeconds": 15},
    "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H200"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}
DECODERS = {"variant": "cpu", "device": "cpu", "threads": 8, "replicas": 2, "resources": {"limits": {"cpu": "8"}}}
FULL: dict[str, Any] = {
    "store": {
        "url": "s3://audio",
        "endpoint": "http://minio.storage:9000",
        "publicEndpoint": "https://audio.example.org",
        "region": "eu-central-1",
    },
    "publicUrl": "https://speech.example.org",
    "secrets": {
        "create": {"redis_url": "redis://:p@redis:6379/0", "api_keys": "{}", "webhook_key": "k" * 32}
        | {"decoder_token": "d" * 32},
        "hasS3Credentials": False,
    },
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/rhapsode"}},
    "env": {"RHAPSODE_LOG_LEVEL": "info", "RHAPSODE_LEASE_S": 30},
    "api": {"ingress": {"enabled": True, "host": "speech.example.org", "tlsSecret": "tls", "className": "nginx"}},
    "speechWorkers": [GPU_POOL | {"decoders": DECODERS}],
    "autoscaling": {"keda": True},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicies": {"apiFrom": [{"podSelector": {}}]},
}

ZONES = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}


EXAMPLES = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted((DOCKER / "helm" / "examples").glob("*.yaml"))
}
FETCHED = {
    "model": "qwen3-tts-1.7b-customvoice",
    "revision": "ab" * 20,
    "size": "10Gi",
}


def test_helm_has_nothing_to_say() -> None:
    for values in (MINIMAL, FULL, *EXAMPLES.values()):
        assert [each for each in helm.lint(CHART, values, strict=True)["messages"] if "icon" not in str(each)] == []


@pytest.mark.parametrize("values", [MINIMAL, FULL, *EXAMPLES.values()], ids=["minimal", "full", *EXAMPLES])
def test_kubernetes_accepts_every_object(values: Mapping[str, Any]) -> None:
    objects = list(rendered(values))

    checked = 0
    for each in objects:
        if is_kubernetes_own(each):
            kubernetes_validate.validate(each, KUBERNETES, strict=True)
            checked += 1
    assert checked >= 15
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("values", [MINIMAL, FULL], ids=["minimal", "full"])
def test_every_container_becomes_a_process_that_exists_and_may_do_nothing(values: Mapping[str, Any]) -> None:
    seen: set[str] = set()
    for deployment in of_kind(rendered(values), "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        seen.add(container["args"][0])

        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["livenessProbe"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    assert seen == set(ProcessKind) - (set() if values is FULL else {ProcessKind.DECODER_WORKER})


def test_the_api_alone_reaches_live_speech() -> None:
    objects = list(rendered({**FULL, "networkPolicies": {**FULL.get("networkPolicies", {}), "enabled": True}}))
    speaking = [
        container
        for deployment in of_kind(iter(objects), "Deployment")
        for container in deployment["spec"]["template"]["spec"]["containers"]
        if container["args"] == ["gpu-worker"]
    ]
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind(iter(objects), "NetworkPolicy")}
    (rule,) = policies["demo-rhapsode-live"]["ingress"]
    (way,) = policies["demo-rhapsode-live-api"]["egress"]

    assert speaking
    for container in speaking:
        said = {each["name"]: each for each in container["env"]}
        first = int(said["RHAPSODE_LIVE_PORT"]["value"])
        ports = {"live": first, "live-2": first + 1}
        assert len(ports) == MOST_ADDRESSES
        assert [{"name": name, "containerPort": port} for name, port in ports.items()] == container["ports"][-2:]
        assert said["RHAPSODE_LIVE_HOST"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert "RHAPSODE_LIVE_SLOTS" not in said
    (caller,) = rule["from"]
    assert caller["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "api"
    assert policies["demo-rhapsode-live-api"]["podSelector"] == caller["podSelector"]
    assert rule["ports"] == way["ports"] == [{"port": name, "protocol": "TCP"} for name in ("live", "live-2")]
    assert not [each for each in of_kind(iter(objects), "Service") if "live" in str(each["spec"]["ports"])]


def test_a_pool_and_its_decoders_have_what_makes_them_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = list(rendered(FULL))
    speaking, decoding = (
        next(
            deployment["spec"]["template"]["spec"]["containers"][0]
            for deployment in of_kind(iter(objects), "Deployment")
            if deployment["metadata"]["name"] == f"demo-rhapsode-{kind}-qwen3-17b"
        )
        for kind in ("speech", "decoder")
    )
    speech, decoder = (settings_of(container, monkeypatch) for container in (speaking, decoding))
    (service,) = (each for each in of_kind(iter(objects), "Service") if "decoder" in each["metadata"]["name"])
    policy = next(
        each["spec"]
        for each in of_kind(iter(objects), "NetworkPolicy")
        if each["metadata"]["name"] == service["metadata"]["name"]
    )

    (own,) = decoder.decoders
    assert isinstance(own, DecoderAddress)
    assert [str(each) for each in speech.decoders] == [f"ws://{service['metadata']['name']}:7777/cpu"] * 2
    assert all(isinstance(each, DecoderAddress) and each.token == own.token == "d" * 32 for each in speech.decoders)
    for name in ("engine_profile", "engine_threads", "checkpoint"):
        assert getattr(speech, name) == getattr(decoder, name), name
    assert (speech.device, decoder.device) == ("cuda:0", "cpu")
    assert {"name": "decoder", "containerPort": own.port} in decoding["ports"]
    assert (own.host, decoding["startupProbe"]["tcpSocket"]["port"]) == ("0.0.0.0", "decoder")
    assert "secrets" not in {mount["name"] for mount in decoding["volumeMounts"]}
    (into,), (out,) = policy["ingress"], policy["egress"]
    assert into["from"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "speech-qwen3-17b"
    assert out["to"][0]["podSelector"]["matchLabels"] == service["spec"]["selector"]
    assert into["ports"] == out["ports"] == [{"port": "decoder", "protocol": "TCP"}]
    assert "DECODER" not in str(list(rendered(FULL | {"speechWorkers": [GPU_POOL]})))


def test_decoders_want_a_token_of_the_secret_that_the_chart_makes() -> None:
    secrets = FULL["secrets"]
    for token in ({}, {"decoder_token": "short"}):
        create = {name: value for name, value in secrets["create"].items() if name != "decoder_token"} | token
        with pytest.raises(helm.HelmError, match=r"secrets\.create\.decoder_token must have 32 letters"):
            list(rendered(FULL | {"secrets": {**secrets, "create": create}}))


def settings_of(container: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    """Of a worker in this container, as Kubernetes puts variables into others."""
    token = {"name": "DECODER_TOKEN", "valueFrom": {"secretKeyRef": {"name": "demo-rhapsode", "key": "decoder_token"}}}
    assert container["env"].index(token) < [each["name"] for each in container["env"]].index("RHAPSODE_DECODER_DEVICE")
    with monkeypatch.context() as patch:
        for each in container["env"]:
            if each["name"].startswith("RHAPSODE_") and not each["name"].endswith("_FILE") and "value" in each:
                patch.setenv(each["name"], each["value"].replace("$(DECODER_TOKEN)", "d" * 32))
        return load_settings(DecoderSettings if container["args"] == ["decoder-worker"] else WorkerSettings)


def test_a_checkpoint_is_fetched_and_verified_before_a_worker_starts() -> None:
    pool = {**GPU_POOL, "checkpoint": {"fetch": FETCHED}, "topologySpread": [ZONES]}
    (pod,) = (
        each["spec"]["template"]["spec"]
        for each in of_kind(rendered(FULL | {"speechWorkers": [pool]}), "Deployment")
        if "speech" in each["metadata"]["name"]
    )
    (fetching,), (speaking,) = pod["initContainers"], pod["containers"]

    assert fetching["command"] == ["rhapsode", "models", "pull"]
    assert fetching["args"] == [FETCHED["model"], "--revision", FETCHED["revision"], "--data-dir", "/checkpoint"]
    assert FETCHED["model"] in PUBLISHED
    assert fetching["image"] == speaking["image"], "which has the command"
    assert fetching["securityContext"] == speaking["securityContext"]
    assert {"name": "RHAPSODE_CHECKPOINT", "value": f"/checkpoint/models/{FETCHED['model']}"} in speaking["env"]
    assert {"name": "checkpoint", "mountPath": "/checkpoint"} in fetching["volumeMounts"]
    assert {"name": "checkpoint", "mountPath": "/checkpoint", "readOnly": True} in speaking["volumeMounts"]
    assert {"name": "checkpoint", "emptyDir": {"sizeLimit": "10Gi"}} in pod["volumes"]
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "speech-qwen3-17b"


@pytest.mark.parametrize("narrate", [False, True])
def test_helm_test_asks_the_api_and_may_have_it_narrate(narrate: bool) -> None:
    values = FULL | {"tests": {"narrate": narrate}, "networkPolicies": {"apiFrom": [{"podSelector": {}}]}}
    objects = list(rendered(values))
    (pod,) = of_kind(iter(objects), "Pod")
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind(iter(objects), "NetworkPolicy")}

    names = [container["name"] for container in pod["spec"]["containers"]]
    assert names == (["answers", "narrates"] if narrate else ["answers"])
    assert pod["spec"]["containers"][0]["args"] == ["http://demo-rhapsode-api:80/readyz"]
    (api,) = policies["demo-rhapsode-api"]["ingress"]
    assert {"podSelector": policies["demo-rhapsode-test"]["podSelector"]} in api["from"]
    labels = pod["metadata"]["labels"].items()
    assert policies["demo-rhapsode-test"]["podSelector"]["matchLabels"].items() <= labels


def test_notes_say_how_it_is_reached() -> None:
    with_ingress, without = (notes(values) for values in (FULL, MINIMAL))

    assert "helm test demo --namespace prod" in with_ingress
    assert "RHAPSODE_SERVER_URL=https://speech.example.org" in with_ingress
    assert "port-forward service/demo-rhapsode-api 8765:80" in without
    assert "publicUrl is not set" in without
    assert "0 to 8 replicas; 2 decoders on cpu\n" in with_ingress


def test_the_chart_is_packed_as_registries_take_it_with_the_same_bytes_in_each_checkout(tmp_path: Path) -> None:
    later = shutil.copytree(CHART, tmp_path / "later" / CHART.name)
    os.utime(later / "values.yaml", (2e9, 2e9))
    for folder, chart in (("one", CHART), ("other", later)):
        (tmp_path / folder).mkdir()
        pack_chart(tmp_path / folder, chart)
    (packed,) = (tmp_path / "one").iterdir()

    assert packed.name == f"rhapsode-{version('rhapsode')}.tgz"
    assert packed.read_bytes() == (tmp_path / "other" / packed.name).read_bytes()
    with tarfile.open(packed) as archive:
        assert {"rhapsode/README.md", "rhapsode/templates/NOTES.txt"} <= set(archive.getnames())


def test_a_worker_gets_time_to_drain_before_it_is_killed() -> None:
    for deployment in of_kind(rendered(FULL), "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        hook = pod["containers"][0].get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["0"])
        grace_s = 25 if "worker" in pod["containers"][0]["name"] else 10

        assert pod["terminationGracePeriodSeconds"] >= int(hook[-1]) + grace_s


def test_speech_workers_scale_on_what_waits_for_their_model() -> None:
    scaled = {each["metadata"]["name"]: each["spec"] for each in of_kind(rendered(FULL), "ScaledObject")}

    speech = scaled["demo-rhapsode-speech-qwen3-17b"]
    backlog, oldest = (trigger["metadata"] for trigger in speech["triggers"])

    assert (speech["minReplicaCount"], speech["maxReplicaCount"]) == (0, 8)
    assert backlog["query"] == 'sum(max by (class) (rhapsode_backlog_audio_seconds{queue="gpu.qwen3-1.7b"}))'
    assert backlog["threshold"] == "84000"
    assert 'rhapsode_queue_oldest_wait_seconds{queue="gpu.qwen3-1.7b",class="interactive"}' in oldest["query"]
    deployments = {each["metadata"]["name"]: each["spec"] for each in of_kind(rendered(FULL), "Deployment")}
    for name, spec in scaled.items():
        assert spec["scaleTargetRef"]["name"] == name
        assert "replicas" not in deployments[name], "the autoscaler alone decides"


def test_scaling_asks_for_metrics_that_exist() -> None:
    asked = set(re.findall(r"rhapsode_[a-z_]+", (CHART / "templates" / "scaledobjects.yaml").read_text()))

    assert asked
    assert asked <= CATALOGUE.keys()


def test_a_new_secret_of_the_charts_own_starts_the_pods_anew() -> None:
    other = FULL | {"secrets": {**FULL["secrets"], "create": {**FULL["secrets"]["create"], "webhook_key": "n" * 32}}}

    before, after = (
        {
            each["metadata"]["name"]: each["spec"]["template"]["metadata"]["annotations"]
            for each in of_kind(rendered(values), "Deployment")
        }
        for values in (FULL, other)
    )

    assert before.keys() == after.keys()
    assert all(before[name] != after[name] for name in before)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (MINIMAL | {"store": {"url": "/a/folder"}}, "url"),
        (MINIMAL | {"storage": {}}, "storage"),
        (MINIMAL | {"secrets": {"existing": "", "create": {"redis_url": "x"}}}, "secrets"),
        (MINIMAL | {"api": {"replicas": 0}}, "replicas"),
        (MINIMAL | {"speechWorkers": [GPU_POOL | {"variant": "rocm"}]}, "variant"),
        (MINIMAL | {"speechWorkers": []}, "speechWorkers"),
        (MINIMAL | {"speechWorkers": [GPU_POOL | {"checkpoint": {"fetch": {"model": "gpt-2"}}}]}, "model"),
        (MINIMAL | {"speechWorkers": [GPU_POOL | {"checkpoint": {"fetch": FETCHED | {"revision": "ab"}}}]}, "revision"),
        (MINIMAL | {"speechWorkers": [GPU_POOL | {"checkpoint": {"claim": "a", "fetch": FETCHED}}]}, "checkpoint"),
        (MINIMAL | {"speechWorkers": [GPU_POOL | {"decoders": DECODERS | {"replicas": 0}}]}, "replicas"),
        (MINIMAL | {"router": {}}, "router"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(values: Mapping[str, Any], complaint: str) -> None:
    with helm.Chart.load(CHART) as chart, pytest.raises(helm.HelmError, match=complaint):
        chart.validate_schema(dict(values))


def rendered(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    with helm.Chart.load(CHART) as chart:
        chart.validate_schema(dict(values))
        files = chart.render(dict(values), name="demo", namespace="prod")
    for name, content in files.items():
        if name.endswith("NOTES.txt"):
            continue
        yield from (each for each in yaml.safe_load_all(content) if each)


def notes(values: Mapping[str, Any]) -> str:
    with helm.Chart.load(CHART) as chart:
        files = chart.render(dict(values), name="demo", namespace="prod")
    return next(content for name, content in files.items() if name.endswith("NOTES.txt"))


def of_kind(objects: Iterator[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def is_kubernetes_own(each: Mapping[str, Any]) -> bool:
    """KEDA's and the Prometheus operator's kinds have schemas of their own, which are not at hand here."""
    group = each["apiVersion"].partition("/")[0]
    return "." not in group or group.endswith("k8s.io")


def test_the_chart_carries_the_projects_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["appVersion"] == version("rhapsode")
