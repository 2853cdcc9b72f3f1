"""An open request's text as it grows: when its prompt is known, and what stands beside later frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.engine.errors import RequestRejected
from worker.engine.interface import SpeechRequest
from worker.engine.requests.budget import open_frame_budget
from worker.engine.requests.prompt import PromptBuilder, PromptLayout


@dataclass(frozen=True, slots=True)
class Written:
    """prompt: the first time. ids: afterwards, of text beside later frames. max_frames: from now on."""

    prompt: PromptLayout | None
    ids: Sequence[int]
    max_frames: int


class Writing:
    """One request's. Belongs to one thread at a time."""

    def __init__(self, prompts: PromptBuilder, request: SpeechRequest, capacity: int) -> None:
        self._prompts = prompts
        self._request = request
        self._capacity = capacity
        self._text = prompts.open_text()
        self._first_ids: list[int] = []
        self._prompt: PromptLayout | None = None
        self._num_tokens = 0
        self._num_trailing = 0
        self.is_over = False

    def push(self, text: str, *, is_last: bool) -> Written | None:
        """One piece more. None where that changes nothing for the talker. Raises RequestRejected."""
        ids = self._text.push(text, is_last=is_last)
        self._num_tokens += len(ids)
        self.is_over = is_last
        if is_last:
            if not self._num_tokens:
                raise RequestRejected("the text is empty")
            ids = (*ids, self._prompts.end_of_text)
        if self._prompt is None:
            return self._begin(ids)
        if not ids:
            return None
        self._num_trailing += len(ids)
        return Written(None, ids, self._max_frames(self._prompt))

    def _begin(self, ids: Sequence[int]) -> Written | None:
        self._first_ids += ids
        prompt = self._prompts.build_open(self._request, self._first_ids)
        if prompt is None:
            return None
        self._prompt, self._num_trailing = prompt, prompt.trailing_text_ids.shape[0]
        return Written(prompt, (), self._max_frames(prompt))

    def _max_frames(self, prompt: PromptLayout) -> int:
        return open_frame_budget(
            num_text_tokens=self._num_tokens,
            prompt_rows=prompt.num_rows,
            trailing_rows=self._num_trailing,
            capacity=self._capacity,
            requested=self._request.max_frames,
            is_last=self.is_over,
        )
