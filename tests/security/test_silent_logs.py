"""A whole system at level debug, used, misused and broken: nothing that is its users' business is in any log.

Every channel by which something private comes in has a word of its own, so that a failure says which one leaks.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from rhapsode.stack import processes
from storage.database.keys import RedisKeys
from storage.ids import JobId
from tests.api.voices.voices import recording
from tests.faults.system import RunningSystem
from worker.engine.fake import POISON_MARKER

TENANT, OPERATOR = "ann", "operator"
CONSENT = "I agree, and my name is {consent}."

CHANNELS = (
    *("text", "ssml", "entry", "instructions", "edit", "metadata", "poisoned", "refused", "malformed", "field"),
    *("document", "chapter", "upload", "dictionary", "custom_id", "batch_text", "voice", "ref_text", "consent"),
    *("idempotency", "request_query", "request_path", "header", "wrong_key", "hook_path", "hook_query", "hook_answer"),
    *("record", "audio"),
)
SAID = {name: f"Zq{hashlib.sha256(name.encode()).hexdigest()[:12]}x" for name in CHANNELS}
KEY, OPERATOR_KEY = "a-key-of-Ann-that-nobody-may-read", "a-key-of-the-operator-too"


@contextmanager
def unwell_receiver() -> Generator[str]:
    """Refuses the first delivery with a telling answer and takes the others."""

    class Handler(http.server.BaseHTTPRequestHandler):
        posts = 0

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            Handler.posts += 1
            body = SAID["hook_answer"].encode()
            self.send_response(500 if Handler.posts == 1 else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """pytest's business alone."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Ann:
    """A user who has secrets, and collects those that the system gives her."""

    def __init__(self, system: RunningSystem) -> None:
        self.system = system
        self.http = httpx.Client(base_url=system.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
        self.secrets: dict[str, str] = {}
        self.ids: list[str] = []

    def post(self, path: str, body: object, expected: int, **headers: str) -> dict[str, object]:
        answer = self.http.post(path, json=body, headers=headers)
        assert answer.status_code == expected, f"{path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else {}

    def narrate(self, expected_state: str, given: object, **more: object) -> str:
        job = str(self.post("/v1/jobs", {"input": given, "voice": "ada", **more}, 202)["id"])
        ended = self.wait(job)
        assert ended["state"] == expected_state, ended
        return job

    def wait(self, job: str) -> dict[str, object]:
        record: dict[str, object] = {}

        def is_over() -> bool:
            record.update(self.http.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=5"}).json())
            return record["state"] not in ("pending", "running")

        self.system.eventually(is_over, 60)
        return record

    def keep_signature(self, name: str, url: object) -> None:
        query = parse_qs(urlsplit(str(url)).query)
        (self.secrets[name],) = query["signature"]


@pytest.fixture
def system(data_dir: Path) -> Iterator[RunningSystem]:
    digests = {
        hashlib.sha256(key.encode()).hexdigest(): tenant for key, tenant in ((KEY, TENANT), (OPERATOR_KEY, OPERATOR))
    }
    system = RunningSystem(
        data_dir / "system",
        RHAPSODE_LOG_LEVEL="debug",
        RHAPSODE_API_KEYS=json.dumps(digests),
        RHAPSODE_WEBHOOK_ALLOW_PRIVATE="loopback",
        RHAPSODE_WEBHOOK_DELAYS_S="0.2,0.2,0.2",
        RHAPSODE_MAX_ATTEMPTS="1",
    )
    system.start()
    yield system
    system.kill_everything()


@pytest.mark.faults
def test_nothing_private_is_in_any_log(system: RunningSystem, data_dir: Path) -> None:
    ann = Ann(system)
    with unwell_receiver() as receiver:
        webhooks(ann, receiver)
        keys(ann)
        narrations(ann)
        documents(ann)
        voices(ann)
        batches(ann)
        misuse(ann)
        system.eventually(lambda: len(system.log_events("webhook attempted")) >= 5, 30)
    breakage(ann)
    ann.http.close()
    system.stop()

    logs = {path.name: path.read_text(errors="replace") for path in (data_dir / "system").rglob("*.log*")}
    everything = "".join(logs.values())
    assert {f"{name}.log" for name in (*(process for group in processes.STOP_ORDER for process in group), "up")} == set(
        logs
    )
    ours = [text for name, text in logs.items() if name != "valkey.log"]
    assert [line for text in ours for line in text.splitlines() if not is_event(line)] == []
    # The paths that are to be silent were taken.
    for event in ("webhook attempted", "job planned", "engine died", "request failed", "item failed for good"):
        assert f'"{event}"' in everything, event
    private = SAID | ann.secrets | {"key": KEY, "operator's key": OPERATOR_KEY} | secrets_at_rest(data_dir / "system")
    leaks = [
        f"{name} in {log}: {line[max(0, line.find(word) - 200) : line.find(word) + 60]}"
        for name, word in private.items()
        for log, text in logs.items()
        for line in text.splitlines()
        if word in line
    ]
    assert "\n".join(leaks) == ""


def is_event(line: str) -> bool:
    """A line of JSON as every process of ours writes it, the supervisor included."""
    try:
        event = json.loads(line)
    except ValueError:
        return False
    return {"event", "level", "logger", "role", "timestamp"} <= set(event)


def webhooks(ann: Ann, receiver: str) -> None:
    for url in (
        f"{receiver}/{SAID['hook_path']}?token={SAID['hook_query']}",
        f"http://127.0.0.1:9/{SAID['hook_path']}",
    ):
        made = ann.post("/v1/webhook-endpoints", {"url": url, "events": ["job.succeeded", "job.failed"]}, 201)
        ann.secrets[f"webhook secret of {url[:24]}"] = str(made["secret"])
    rotated = ann.post(f"/v1/webhook-endpoints/{made['id']}/rotate-secret", {}, 200)
    ann.secrets["rotated webhook secret"] = str(rotated["secret"])


def keys(ann: Ann) -> None:
    order = {"tenant": TENANT, "name": "another", "scopes": ["synth"]}
    made = ann.post("/v1/admin/api-keys", order, 201, Authorization=f"Bearer {OPERATOR_KEY}")
    ann.secrets["made key"] = str(made["secret"])
    mine = {"Authorization": f"Bearer {made['secret']}"}
    assert ann.http.get("/v1/jobs", headers=mine).status_code == 200
    assert ann.http.post("/v1/voices", headers=mine).status_code == 403


def narrations(ann: Ann) -> None:
    job = ann.narrate(
        "succeeded",
        {"text": f"My secret is {SAID['text']}. And this is all."},
        instructions=f"like {SAID['instructions']}",
        metadata={"who": SAID["metadata"]},
    )
    link = ann.http.get(f"/v1/jobs/{job}/artifacts/narration.wav")
    assert link.status_code == 302
    ann.keep_signature("artifact link", link.headers["location"])
    assert httpx.get(link.headers["location"]).status_code == 200
    assert httpx.get(f"{link.headers['location']}00").status_code == 403
    edited = ann.http.patch(f"/v1/jobs/{job}/segments/0", json={"text": f"Rather {SAID['edit']}."})
    assert edited.is_success, edited.text
    ann.wait(job)
    ann.narrate("succeeded", {"ssml": f"<speak>I am <break time='100ms'/>{SAID['ssml']}.</speak>"})
    ann.narrate("succeeded", {"segments": [{"text": f"Entry {SAID['entry']}."}]})
    ann.narrate("failed", {"text": f"{SAID['poisoned']} and {POISON_MARKER}."})


def documents(ann: Ann) -> None:
    for kind, content in (
        ("md", f"# {SAID['chapter']}\n\nThe {SAID['document']} is short.\n"),
        ("epub", f"PK no book at all, but {SAID['document']}"),
    ):
        place = ann.post("/v1/uploads", {"bytes": len(content)}, 201)
        ann.keep_signature(f"upload link {kind}", place["url"])
        assert httpx.put(str(place["url"]), content=content.encode()).is_success
        given = {"document": {"upload_id": place["id"], "format": kind}}
        ann.narrate("succeeded" if kind == "md" else "failed", given)
    rules = [{"grapheme": SAID["dictionary"], "alias": f"{SAID['dictionary']}s"}]
    ann.post("/v1/pronunciation-dictionaries", {"name": SAID["dictionary"], "rules": rules}, 201)


def voices(ann: Ann) -> None:
    form = {
        "name": SAID["voice"],
        "consent": CONSENT.format_map(SAID),
        "ref_text": f"This is {SAID['ref_text']}.",
        "precompute": "true",
    }
    for name, audio, expected in (("", recording(), 202), ("2", f"RIFF{SAID['audio']}".encode(), 422)):
        files = {"audio_sample": (f"{SAID['audio']}.wav", audio)}
        answer = ann.http.post("/v1/voices", data=form | {"name": SAID["voice"] + name}, files=files)
        assert answer.status_code == expected, answer.text
    ann.narrate("succeeded", {"text": "Short."}, voice=SAID["voice"])


def batches(ann: Ann) -> None:
    lines = [
        json.dumps({"custom_id": SAID["custom_id"], "input": {"text": f"{SAID['batch_text']}."}, "voice": voice})
        for voice in ("ada", SAID["voice"])
    ]
    for content in (lines[0], "\n".join(lines)):
        answer = ann.http.post("/v1/batches", content=content.encode(), headers={"Content-Type": "application/jsonl"})
        assert answer.status_code in (202, 422), answer.text
    # A broken line is named by its number.
    broken = ann.http.post(
        "/v1/batches", content=f'{{"{SAID["malformed"]}'.encode(), headers={"Content-Type": "application/jsonl"}
    )
    assert broken.status_code == 422


def misuse(ann: Ann) -> None:
    attempts = (
        ann.http.post("/v1/jobs", content=f'{{"input": {SAID["malformed"]}'.encode()),
        ann.http.post("/v1/jobs", json={SAID["field"]: 1, "input": {"text": SAID["refused"]}}),
        ann.http.post("/v1/jobs", json={"input": {"text": "A"}}, headers={"Idempotency-Key": SAID["idempotency"] * 20}),
        ann.http.get(f"/v1/jobs/{SAID['request_path']}?token={SAID['request_query']}"),
        ann.http.get("/v1/jobs", headers={"Authorization": f"Bearer {SAID['wrong_key']}"}),
        ann.http.get(f"/v1/objects/a/b?signature={SAID['request_query']}&expires=9"),
        ann.http.get(f"/v1/{SAID['request_path']}", headers={"X-Request-ID": f"{SAID['header']} with a blank"}),
    )
    assert all(400 <= answer.status_code < 500 for answer in attempts), attempts


def breakage(ann: Ann) -> None:
    """A record that cannot be read, then no database at all."""
    system = ann.system
    spoiled = str(ann.post("/v1/jobs", {"input": {"text": "Wait."}, "voice": "ada"}, 202)["id"])
    ann.wait(spoiled)
    with system.redis() as client:
        key = RedisKeys("rhapsode").of("job", JobId(spoiled))
        for field in client.hkeys(key):
            if field not in ("tenant", "state"):
                client.hset(key, field, f'{{"{SAID["record"]}": ["{SAID["record"]}"')
    assert ann.http.get(f"/v1/jobs/{spoiled}").status_code == 500
    with system.redis() as client:
        client.delete(key)
    pid = system.pid(processes.VALKEY)
    os.kill(pid, signal.SIGKILL)
    answer = ann.http.post("/v1/jobs", json={"input": {"text": SAID["text"]}, "voice": "ada"})
    assert answer.status_code in (202, 503)
    system.wait_replaced(processes.VALKEY, pid)


def secrets_at_rest(folder: Path) -> dict[str, str]:
    """Of the system itself: what it drew for its links, webhooks and database."""
    secret_files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o77 == 0]
    found = {
        path.name: path.read_text().strip()
        for path in secret_files
        if 16 <= path.stat().st_size <= 100 and path.read_bytes().isascii() and path.suffix != ".json"
    }
    assert len(found) >= 3, found.keys()
    return found
