"""Edits, retries and assemblies under kill -9: nothing is lost, nothing is done twice, and the last word counts."""

from __future__ import annotations

import hashlib
import io
import os
import random
import signal
import time
from contextlib import closing
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from rhapsode.contract.jobs.output import Destination
from rhapsode.stack import processes
from storage.audio.wav import wav_header
from storage.ids import JobId, TenantId
from storage.objects.keys import all_artifacts_prefix
from storage.segments.timeline import num_gap_samples
from tests.faults.conftest import Report, StartSystem
from tests.faults.system import TENANTS, Leftovers, RunningSystem, api_key
from worker.engine.fake import SAMPLE_RATE_HZ, fake_speech
from worker.speech.audio.samples import to_bytes, to_samples
from worker.speech.audio.speech_edges import finish_edges

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

BOOKS = Destination(prefix="books/42/")
NUM_SEGMENTS = 24
EDITS_A_ROUND = 4
PAUSE_S = 0.6
PATIENCE_S = 120
VICTIMS = (processes.API, processes.GPU_WORKER, processes.CPU_WORKER, processes.VALKEY)


class Editor:
    """A user who changes segments of one job and does not give up; knows what the narration must be."""

    def __init__(self, system: RunningSystem, title: str) -> None:
        self._system = system
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {api_key(TENANTS[0])}"}, timeout=20, trust_env=False
        )
        self.said = [(f"Sentence {number} of {title} is this one.", 100 + number) for number in range(NUM_SEGMENTS)]
        self.orders = [1] * NUM_SEGMENTS
        self.job = ""

    def close(self) -> None:
        self._http.close()

    def submit(self) -> None:
        entries = [{"text": text, "seed": seed, "pause_after_s": 0.5} for text, seed in self.said]
        output = {"destination": {"prefix": BOOKS.prefix}}
        body = {"input": {"segments": entries}, "voice": "ada", "quality": {"gate": "off"}, "output": output}
        self.job = self._insist("POST", "/v1/jobs", body, f"submit {self.said[0][0]}").json()["id"]

    def cancel(self) -> None:
        self._insist("POST", f"/v1/jobs/{self.job}/cancel", None, "")

    def retry(self, key: str) -> None:
        self._insist("POST", f"/v1/jobs/{self.job}/retry", {}, key)

    def assemble(self, kind: str, key: str) -> None:
        """Repeated until it is answered: while the artifacts are being made, no others can be ordered."""
        self._insist("POST", f"/v1/jobs/{self.job}/assemble", {"output": {"formats": [{"type": kind}]}}, key)

    def num_spoken(self) -> int:
        return self._insist("GET", f"/v1/jobs/{self.job}", None, "").json()["progress"]["segments"]["done"]

    def edit(self, index: int, text: str, seed: int) -> None:
        """Repeated until it is answered: while a worker speaks the segment, it cannot be changed."""
        self._insist("PATCH", f"/v1/jobs/{self.job}/segments/{index}", {"text": text, "seed": seed}, "")
        self.said[index] = (text, seed)
        self.orders[index] += 1

    def wait(self) -> dict[str, Any]:
        until_s = time.monotonic() + PATIENCE_S
        while True:
            job = self._insist("GET", f"/v1/jobs/{self.job}", None, "").json()
            if job["state"] in ("succeeded", "failed", "cancelled", "expired"):
                return job
            assert time.monotonic() < until_s, f"{job}\n{self._system.last_words()}"
            time.sleep(0.05)

    def takes(self, index: int) -> list[dict[str, Any]]:
        return self._insist("GET", f"/v1/jobs/{self.job}/segments/{index}/takes", None, "").json()["data"]

    def wav_sha256(self) -> str:
        return hashlib.sha256(self.sound("wav")).hexdigest()

    def sound(self, kind: str) -> bytes:
        return self._insist("GET", f"/v1/jobs/{self.job}/artifacts/narration.{kind}", None, "").content

    def artifact_keys(self) -> set[str]:
        """Where the job's files lie in the store: the destination was chosen by the caller, so it is told."""
        return {each["key"] for each in self._insist("GET", f"/v1/jobs/{self.job}", None, "").json()["artifacts"]}

    def expected_sha256(self) -> str:
        samples = self.expected_samples()
        return hashlib.sha256(wav_header(len(samples), SAMPLE_RATE_HZ) + to_bytes(samples)).hexdigest()

    def expected_samples(self) -> NDArray[np.int16]:
        gap = np.zeros(num_gap_samples(0.5, SAMPLE_RATE_HZ), np.int16)
        parts: list[NDArray[np.int16]] = []
        for text, seed in self.said:
            pcm, _ = fake_speech(text, seed)
            parts += [to_samples(finish_edges(pcm, SAMPLE_RATE_HZ)), gap]
        return np.concatenate(parts)

    def _insist(self, method: str, path: str, body: object, key: str) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else {}
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                url = f"{self._system.url}{path}"
                answer = self._http.request(method, url, json=body, headers=headers, follow_redirects=True)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code not in (409, 429, 503):
                assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
                return answer
            assert time.monotonic() < until_s, answer.text if answer else "no answer"
            time.sleep(0.05)


def test_edits_survive_the_death_of_everything(start_system: StartSystem, seed: int, report: Report) -> None:
    system = start_system()
    with closing(Editor(system, "the book")) as editor:
        editor.submit()
        assert editor.wait()["state"] == "succeeded"
        begun_s = time.monotonic()
        _edit_and_kill(system, editor, random.Random(seed))
        job = editor.wait()
        edits = sum(editor.orders) - NUM_SEGMENTS
        seconds = time.monotonic() - begun_s
        report(f"edits: {len(VICTIMS)} kills among {edits} edits of {NUM_SEGMENTS} segments: {seconds:.1f} s")
        assert (job["state"], job["error"]) == ("succeeded", None), system.last_words()
        assert editor.wav_sha256() == editor.expected_sha256()
        for index, orders in enumerate(editor.orders):
            assert len(editor.takes(index)) <= orders, "an edit was made twice"
        _assemble_and_kill(system, editor, random.Random(seed), report)
    with closing(Editor(system, "the other book")) as editor:
        _retry_and_kill(system, editor, random.Random(seed), report)
        system.eventually(lambda: _left_behind(system, editor) == set(), 60)
    assert system.leftovers() == Leftovers((), 0, 0, 0, 0)


def _left_behind(system: RunningSystem, editor: Editor) -> set[str]:
    """What assemblies of before made and the job does not name any more: it is deleted once the new is in place."""
    prefix = all_artifacts_prefix(TenantId(TENANTS[0]), JobId(editor.job), BOOKS)
    return set(system.objects(prefix)) - editor.artifact_keys()


def _kill_after(system: RunningSystem, victim: str, dice: random.Random) -> None:
    """Some moment in the half second after an order, and wait for the successor."""
    old = system.pid(victim)
    time.sleep(dice.uniform(0, PAUSE_S))
    os.kill(old, signal.SIGKILL)
    system.wait_replaced(victim, old)


def _assemble_and_kill(system: RunningSystem, editor: Editor, dice: random.Random, report: Report) -> None:
    """The same sound in another format each time, whatever process dies meanwhile; nothing is spoken."""
    begun_s, takes = time.monotonic(), [len(editor.takes(index)) for index in range(NUM_SEGMENTS)]
    for number, (victim, kind) in enumerate(zip(VICTIMS, ("flac", "wav", "flac", "wav"), strict=True)):
        editor.assemble(kind, f"assemble {number}")
        _kill_after(system, victim, dice)
        # Its answer may have died with the API: the same order again is no second one.
        editor.assemble(kind, f"assemble {number}")
        assert editor.wait()["state"] == "succeeded", system.last_words()
        samples, _ = soundfile.read(io.BytesIO(editor.sound(kind)), dtype="int16")
        assert np.array_equal(samples, editor.expected_samples()), kind
    assert [len(editor.takes(index)) for index in range(NUM_SEGMENTS)] == takes
    system.eventually(lambda: _left_behind(system, editor) == set(), 60)
    report(f"assemblies: {len(VICTIMS)} kills, {time.monotonic() - begun_s:.1f} s")


def _retry_and_kill(system: RunningSystem, editor: Editor, dice: random.Random, report: Report) -> None:
    """Cancelled at the first segments and taken up again, with a death in each half."""
    begun_s = time.monotonic()
    editor.submit()
    system.eventually(lambda: editor.num_spoken() > 0, PATIENCE_S)
    editor.cancel()
    _kill_after(system, processes.GPU_WORKER, dice)
    cancelled = editor.wait()
    if cancelled["state"] == "cancelled":
        editor.retry("retry")
        _kill_after(system, processes.CPU_WORKER, dice)
        editor.retry("retry")
    assert editor.wait()["state"] == "succeeded", system.last_words()
    assert editor.wav_sha256() == editor.expected_sha256()
    assert all(len(editor.takes(index)) == 1 for index in range(NUM_SEGMENTS)), "a retry spoke what was spoken"
    report(f"retry of a job that was {cancelled['state']}: 2 kills, {time.monotonic() - begun_s:.1f} s")


def _edit_and_kill(system: RunningSystem, editor: Editor, dice: random.Random) -> None:
    """One process of each kind, in the middle of edits and while earlier ones are being spoken or assembled."""
    for number, victim in enumerate(VICTIMS):
        old = system.pid(victim)
        for step, index in enumerate(dice.sample(range(NUM_SEGMENTS), EDITS_A_ROUND)):
            if step == EDITS_A_ROUND // 2:
                time.sleep(dice.uniform(0, PAUSE_S))
                os.kill(old, signal.SIGKILL)
            editor.edit(index, f"Round {number} says this in place of sentence {index}.", dice.randrange(2**32))
        system.wait_replaced(victim, old)
