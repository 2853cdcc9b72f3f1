"""The kinds of servers that can be measured, by the name that the command line has for each (`TARGETS`)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, JsonValue, ValidationError

from rhapsode.bench.server.connections import AnswerHead, HttpConnection, connected, read_origin, speak_over_socket
from rhapsode.bench.server.listening import Ear, NotHeard, RequestRefused
from rhapsode.bench.server.orders import LANGUAGE_NAMES, SpeechRequestOrder, SpeechTarget, Task
from rhapsode.contract.jobs.states import JobState

FRAME_S = 0.08
"""Of the Qwen3-TTS family at 12.5 frames a second."""

Fields = Mapping[str, JsonValue]

_EVERY_TASK = frozenset(Task)
_FAMILY_NAMES = {
    Task.CUSTOM_VOICE: "CustomVoice",
    Task.VOICE_DESIGN: "VoiceDesign",
    Task.X_VECTOR: "Base",
    Task.IN_CONTEXT: "Base",
}
_BARE = {"audio/pcm", "audio/l16", "audio/raw", "application/octet-stream"}
_WAV = {"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"}
_RATE = "x-sample-rate"


class BenchTarget(ABC):
    """tasks: those that its wire shape has words for. frame_s: seconds of speech in one codec frame of the models that
    such a server has; None: it may have any.
    """

    tasks: ClassVar[frozenset[Task]] = frozenset({Task.CUSTOM_VOICE})
    frame_s: ClassVar[float | None] = None

    def __init__(self, speaking: SpeechTarget) -> None:
        self.speaking = speaking
        self.origin = read_origin(speaking.url)
        self.headers = {"Authorization": f"Bearer {speaking.key}"} if speaking.key else {}

    @abstractmethod
    async def speak(self, order: SpeechRequestOrder, ear: Ear) -> None:
        """To the last sample. Raises a RequestFailed."""

    def given(self) -> Fields:
        """What the caller named of the speech."""
        fields = {name: getattr(self.speaking, name) for name in ("model", "voice", "instructions")}
        return {name: value for name, value in fields.items() if value is not None}

    def family_task(self) -> Fields:
        """In the words of vLLM-Omni's call, which ours takes as well; nothing where no task was named."""
        task = self.speaking.task
        return {} if task is None else {"task_type": _FAMILY_NAMES[task], **self.recording("x_vector_only_mode")}

    def recording(self, embedding_alone: str) -> Fields:
        match self.speaking.task:
            case Task.X_VECTOR:
                return {"ref_audio": self.speaking.reference, embedding_alone: True}
            case Task.IN_CONTEXT:
                return {"ref_audio": self.speaking.reference, "ref_text": self.speaking.reference_text}
            case _:
                return {}


class HttpSpeech(BenchTarget):
    """`POST /v1/audio/speech` with the whole text; the answer is bare samples, or a WAV of them.

    rate_hz: of them, where that is known of its kind; else the answer's headers say it.
    """

    rate_hz: ClassVar[int | None] = None

    @abstractmethod
    def fields(self, order: SpeechRequestOrder) -> Fields:
        """Of the request; the parameters that the caller named replace them."""

    async def speak(self, order: SpeechRequestOrder, ear: Ear) -> None:
        body = json.dumps({**self.fields(order), **self.speaking.parameters}).encode()
        async with connected(self.origin) as connection:
            ear.sent()
            headers = {"Content-Type": "application/json", **self.headers}
            answer = await connection.ask("POST", "/v1/audio/speech", headers, body)
            if not answer.is_success:
                raise await connection.refused(answer)
            self._form(answer, ear)
            async for piece in connection.pieces():
                ear.hear(piece)
        ear.end()

    def _form(self, answer: AnswerHead, ear: Ear) -> None:
        """Some servers answer with a WAV whatever they were asked for. Bytes of other audio are no samples."""
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in _WAV:
            ear.wav_form()
        elif kind in _BARE:
            ear.form(self.rate_hz or _read_rate(answer.headers))
        else:
            raise NotHeard(f"the answer is {kind or 'of no type'}, not bare samples")


class NariSocket(BenchTarget):
    """A WebSocket of `nari.speech.v1`: text word by word, as a model writes it."""

    frame_s = FRAME_S

    @abstractmethod
    def start(self, order: SpeechRequestOrder) -> Fields:
        """What the first message says beside what the caller named."""

    async def speak(self, order: SpeechRequestOrder, ear: Ear) -> None:
        start = {**self.given(), **self.start(order), **self.speaking.parameters}
        await speak_over_socket(self.speaking.url, self.headers, start, order.text, ear)
        ear.end()


class RhapsodeSpeech(HttpSpeech):
    """The language is left to the model, which says itself what it has."""

    tasks = _EVERY_TASK
    frame_s = FRAME_S

    def fields(self, order: SpeechRequestOrder) -> Fields:
        stream = {"input": order.text, "response_format": "pcm", "stream": True}
        return {**stream, **self.given(), **self.family_task()}


class RhapsodeLive(NariSocket):
    tasks = _EVERY_TASK

    def start(self, order: SpeechRequestOrder) -> Fields:
        return self.family_task()


class RhapsodeJobs(BenchTarget):
    """From the submission to the last byte of the finished WAV. Speech of earlier jobs is generated again, not
    reused.
    """

    tasks = _EVERY_TASK
    frame_s = FRAME_S

    async def speak(self, order: SpeechRequestOrder, ear: Ear) -> None:
        async with connected(self.origin) as connection:
            ear.sent()
            job = await self._ask(connection, "POST", "/v1/jobs", self._body(order))
            while not job.state.is_terminal:
                job = await self._ask(connection, "GET", f"/v1/jobs/{job.id}")
        if not job.artifacts:
            raise NotHeard(f"the job {job.state} without a file")
        await self._fetch(job.artifacts[0].url, ear)
        ear.end()

    def _body(self, order: SpeechRequestOrder) -> bytes:
        output = {"formats": [{"type": "wav"}]}
        job = {"input": {"text": order.text}, "output": output, "reuse": False, **self.given()}
        return json.dumps({**job, **self.recording("x_vector_only"), **self.speaking.parameters}).encode()

    async def _ask(self, connection: HttpConnection, method: str, path: str, body: bytes = b"") -> _Job:
        headers = {**self.headers, "Prefer": "wait=30", **({"Content-Type": "application/json"} if body else {})}
        answer = await connection.ask(method, path, headers, body)
        if not answer.is_success:
            raise await connection.refused(answer)
        try:
            return _Job.model_validate_json(await connection.text())
        except ValidationError as error:
            raise NotHeard("the answer is no job") from error

    async def _fetch(self, link: str, ear: Ear) -> None:
        """By a signed link, wherever the files are."""
        address = urlsplit(urljoin(self.speaking.url, link))
        async with connected(read_origin(f"{address.scheme}://{address.netloc}")) as connection:
            answer = await connection.ask("GET", f"{address.path}?{address.query}", {})
            if not answer.is_success:
                raise RequestRefused(answer.status, "for the finished file")
            ear.wav_form()
            async for piece in connection.pieces():
                ear.hear(piece)


class OpenAi(HttpSpeech):
    """As OpenAI documents it, with 24 kHz of `pcm` whatever the model. `model` and `voice` are required there, so that
    they have OpenAI's first names where none is given.
    """

    rate_hz = 24_000

    def fields(self, order: SpeechRequestOrder) -> Fields:
        named = {"model": "tts-1", "voice": "alloy", **self.given()}
        return {**named, "input": order.text, "response_format": "pcm"}


class Kokoro(HttpSpeech):
    """Kokoro-FastAPI. The voice decides the language."""

    rate_hz = 24_000

    def fields(self, order: SpeechRequestOrder) -> Fields:
        speaking = self.speaking
        named = {"model": speaking.model or "kokoro", "voice": speaking.voice or "af_heart"}
        return {**named, "input": order.text, "response_format": "pcm", "stream": True}


class FamilySpeech(HttpSpeech):
    """What servers of the Qwen3-TTS family take alike; SGLang-Omni's says its rate in a header."""

    frame_s = FRAME_S

    def fields(self, order: SpeechRequestOrder) -> Fields:
        text = {"input": order.text, "language": LANGUAGE_NAMES[order.language]}
        return {**text, "response_format": "pcm", "stream": True, "non_streaming_mode": False, **self.given()}


class VllmOmni(FamilySpeech):
    tasks = _EVERY_TASK
    rate_hz = 24_000

    def fields(self, order: SpeechRequestOrder) -> Fields:
        return {**super().fields(order), "stream_format": "audio", **self.family_task()}


class Nari(FamilySpeech):
    """The server of nari-labs, over HTTP."""

    rate_hz = 24_000


class NariLive(NariSocket):
    def start(self, order: SpeechRequestOrder) -> Fields:
        return {"language": LANGUAGE_NAMES[order.language]}


TARGETS: dict[str, Callable[[SpeechTarget], BenchTarget]] = {
    "rhapsode": RhapsodeSpeech,
    "rhapsode-live": RhapsodeLive,
    "rhapsode-jobs": RhapsodeJobs,
    "openai": OpenAi,
    "kokoro": Kokoro,
    "vllm-omni": VllmOmni,
    "sglang-omni": FamilySpeech,
    "nari": Nari,
    "nari-live": NariLive,
}


class _File(BaseModel):
    url: str


class _Job(BaseModel):
    """What is looked at."""

    id: str
    state: JobState
    artifacts: list[_File] = []


def _read_rate(headers: Mapping[str, str]) -> int:
    """In Hz. Raises NotHeard where it is not said."""
    said = headers.get(_RATE, "")
    if not said.isascii() or not said.isdigit() or not 0 < int(said[:9]) < 1_000_000:
        raise NotHeard(f"the answer says no sample rate ({_RATE}: {said[:20]!r})")
    return int(said)
