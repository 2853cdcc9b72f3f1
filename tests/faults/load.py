"""The standard load: many short jobs and some long ones of seven tenants, sent by clients that do not give up.

Clients behave as the API asks: an Idempotency-Key on every submission, the same again after a broken connection or
a 503, until the job has ended; then they fetch the WAV and compare every byte with what it has to be.
"""

from __future__ import annotations

import functools
import hashlib
import random
import threading
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from storage.audio.wav import wav_header
from storage.narration.spec import NarrationSpec
from tests.faults.system import TENANTS, RunningSystem, api_key
from tests.threads import BoundedExecutor
from tests.worker.expected import expected_narration
from worker.engine.fake import SAMPLE_RATE_HZ
from worker.speech.audio.samples import to_bytes

CLIENTS = 32
PATIENCE_S = 600
"""How long a client goes on with one job before it counts as lost."""

SEGMENTATION = SegmentLengths(target_chars=20, max_chars=120)
LONG_JOBS_OF = 25
"""Every 25th job is long: 20 to 50 segments instead of 1 to 3."""

_NOUNS = ("river", "mountain", "lantern", "sparrow", "garden", "letter", "harbour", "winter", "stranger", "bridge")
_VERBS = ("watched", "followed", "remembered", "painted", "carried", "forgot", "answered", "crossed")


@dataclass(frozen=True)
class ExpectedWav:
    sha256: bytes
    bytes: int
    num_segments: int


@dataclass(frozen=True)
class NarrationJob:
    """One job of the load, and all that decides its sound."""

    number: int
    tenant: str
    text: str
    seed: int

    def key(self, run: int) -> str:
        return f"run-{run}-job-{self.number}"

    def body(self) -> dict[str, object]:
        # Of every third the files lie under folders that its caller chose, several jobs' under the same.
        prefix = f"books/{self.number % 2}/"
        return {
            "input": {"text": self.text},
            "output": {} if self.number % 3 else {"destination": {"prefix": prefix}},
            "voice": "ada",
            "seed": self.seed,
            "segmentation": {"target_chars": SEGMENTATION.target_chars, "max_chars": SEGMENTATION.max_chars},
        }

    @functools.cache  # noqa: B019  # a few hundred jobs, which row after row expects alike
    def expected_wav(self) -> ExpectedWav:
        spec = NarrationSpec(Narration(model="fake", voice="ada", seed=self.seed, segmentation=SEGMENTATION))
        narration = expected_narration(self.text, spec)
        wav = wav_header(len(narration.samples), SAMPLE_RATE_HZ) + to_bytes(narration.samples)
        return ExpectedWav(hashlib.sha256(wav).digest(), len(wav), narration.num_segments)

    def has_sound(self, wav: bytes) -> bool:
        return hashlib.sha256(wav).digest() == self.expected_wav().sha256


def standard_load(num_jobs: int, seed: int) -> list[NarrationJob]:
    """The long jobs are in the first three quarters, so that the end of a run is not one of them alone."""
    dice = random.Random(seed)
    num_long = num_jobs // LONG_JOBS_OF
    long = set(dice.sample(range(num_jobs * 3 // 4), num_long))
    return [
        NarrationJob(
            number=number,
            tenant=TENANTS[number % len(TENANTS)],
            text=_story(dice, dice.randint(20, 50) if number in long else dice.randint(1, 3)),
            seed=dice.randrange(2**32),
        )
        for number in range(num_jobs)
    ]


def _story(dice: random.Random, num_sentences: int) -> str:
    sentences = [
        f"The {dice.choice(_NOUNS)} {dice.choice(_VERBS)} the {dice.choice(_NOUNS)} near the old {dice.choice(_NOUNS)}."
        for _ in range(num_sentences)
    ]
    return " ".join(sentences)


@dataclass(frozen=True)
class Outcome:
    """How one job ended for its client. `error` is None for a job that succeeded with the right bytes."""

    job: NarrationJob
    job_id: str
    state: str
    num_segments: int
    error: str | None
    seconds: float


class Load:
    """The clients. `running` sends everything; a fault is timed by `wait_until`."""

    def __init__(self, system: RunningSystem, jobs: list[NarrationJob], run: int = 0) -> None:
        self._system = system
        self._jobs = jobs
        self._run = run
        self._done = threading.Condition()
        self._num_done = 0
        self._futures: list[Future[Outcome]] = []
        self.answers: Counter[int] = Counter()
        """HTTP statuses seen."""
        self.unhelpful: list[str] = []
        """Answers of 503 that did not say when to come again."""
        self.broken_connections = 0

    @contextmanager
    def running(self) -> Generator[None]:
        """Every client has an outcome when the block has ended."""
        with BoundedExecutor(CLIENTS, thread_name_prefix="client") as clients:
            self._futures = [clients.submit(self._narrate, job) for job in self._jobs]
            yield

    def wait_until(self, fraction: float) -> None:
        """Until so much of the jobs have ended."""
        wanted = fraction * len(self._jobs)
        with self._done:
            assert self._done.wait_for(lambda: self._num_done >= wanted, PATIENCE_S), self._system.last_words()

    @property
    def is_over(self) -> bool:
        return self._num_done == len(self._jobs)

    def outcomes(self) -> list[Outcome]:
        return [future.result() for future in self._futures]

    def _narrate(self, job: NarrationJob) -> Outcome:
        begun_s = time.monotonic()
        try:
            return self._to_the_end(job, begun_s)
        finally:
            with self._done:
                self._num_done += 1
                self._done.notify_all()

    def _to_the_end(self, job: NarrationJob, begun_s: float) -> Outcome:
        headers = {"Authorization": f"Bearer {api_key(job.tenant)}"}
        until_s = begun_s + PATIENCE_S
        job_id = state = ""
        # Without `verify=False` every client would read all certificates; nothing here speaks TLS.
        with httpx.Client(headers=headers, timeout=30, follow_redirects=True, trust_env=False, verify=False) as http:
            request = http.build_request(
                "POST", f"{self._system.url}/v1/jobs", json=job.body(), headers={"Idempotency-Key": job.key(self._run)}
            )
            answer = self._insist(http, request, until_s)
            if answer.status_code != 202:
                return Outcome(job, "", "refused", 0, answer.text[:300], time.monotonic() - begun_s)
            job_id = answer.json()["id"]
            while time.monotonic() < until_s:
                request = http.build_request(
                    "GET", f"{self._system.url}/v1/jobs/{job_id}", headers={"Prefer": "wait=10"}
                )
                answer = self._insist(http, request, until_s)
                state = answer.json()["state"] if answer.status_code == 200 else f"answer {answer.status_code}"
                if state not in ("pending", "running"):
                    break
            error, num_segments = self._verify(http, job, job_id, state, until_s)
        return Outcome(job, job_id, state, num_segments, error, time.monotonic() - begun_s)

    def _verify(
        self, http: httpx.Client, job: NarrationJob, job_id: str, state: str, until_s: float
    ) -> tuple[str | None, int]:
        expected = job.expected_wav()
        if state != "succeeded":
            return f"{job_id} is {state}", expected.num_segments
        url = f"{self._system.url}/v1/jobs/{job_id}/artifacts/narration.wav"
        answer = self._insist(http, http.build_request("GET", url), until_s)
        if not job.has_sound(answer.content):
            return f"{job_id} has wrong bytes: {len(answer.content)}, expected {expected.bytes}", expected.num_segments
        return None, expected.num_segments

    def _insist(self, http: httpx.Client, request: httpx.Request, until_s: float) -> httpx.Response:
        """The first answer that is not a broken connection or "come again"."""
        while True:
            try:
                answer = http.send(request)
            except httpx.TransportError:
                self.broken_connections += 1
                if time.monotonic() > until_s:
                    raise
                time.sleep(random.uniform(0.1, 0.3))
                continue
            self.answers[answer.status_code] += 1
            if answer.status_code not in (429, 503) or time.monotonic() > until_s:
                return answer
            if "retry-after" not in answer.headers:
                self.unhelpful.append(f"{request.method} {request.url.path}: {answer.text[:200]}")
            time.sleep(min(float(answer.headers.get("retry-after", 1)), 1))
