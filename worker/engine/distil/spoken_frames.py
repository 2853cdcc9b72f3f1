"""What a checkpoint says, and the states of its code predictor while it says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.distil.training import FrameStates
from worker.engine.interface import BuiltInSpeaker, CodecFrames, Engine, SamplingParams, SpeechRequest
from worker.engine.model.config import read_model_config
from worker.engine.model.layers import RotaryTable
from worker.engine.model.speech_modules import load_modules
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.request_state import RequestState
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.engine.stages.code_predictor import input_tables
from worker.engine.stages.talker_embeddings import TalkerEnds

_FRAMES_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class SpokenFrames:
    request: SpeechRequest
    frames: CodecFrames


def say_all(
    engine: Engine, texts: Sequence[str], sampling: SamplingParams, tell: Callable[[int], None]
) -> tuple[SpokenFrames, ...]:
    """Every text by one of the checkpoint's voices in turn. tell: after each, how many are said."""
    speakers = engine.info.speakers
    requests = [
        SpeechRequest(
            request_id=f"distil/{number}",
            text=text,
            conditioning=BuiltInSpeaker(speakers[number % len(speakers)]),
            sampling=sampling,
            seed=number,
        )
        for number, text in enumerate(texts)
    ]
    futures = {engine.submit(request): request for request in requests}
    said: list[SpokenFrames] = []
    for future in as_completed(futures):
        said.append(SpokenFrames(futures[future], future.result().frames))
        tell(len(said))
    # In the order of the texts, for the same heads from the same speech.
    return tuple(sorted(said, key=lambda one: one.request.seed))


class SpokenStates:
    """The talker and the code predictor over speech that is there already, many frames in a pass."""

    def __init__(self, checkpoint: Path) -> None:
        cpu = torch.device("cpu")
        self._config = config = read_model_config(checkpoint / "config.json")
        self._talker, self.predictor = load_modules(checkpoint / "model.safetensors", config, torch.float32, cpu)
        self._ends = TalkerEnds(config, self._talker, self.predictor.residual_embeddings)
        self._prompts = PromptBuilder(config, TextTokenizer.load(checkpoint, config.text_control))
        first_table = self._talker.model.codec_embedding.weight[: config.predictor.codebook_size]
        self._tables = input_tables(self.predictor, first_table)

    @torch.inference_mode()
    def of(self, said: Sequence[SpokenFrames]) -> FrameStates:
        parts = [part for one in said for part in self._of(one)]
        states, codes = zip(*parts, strict=True)
        return FrameStates(torch.cat(states), torch.cat(codes))

    def _of(self, said: SpokenFrames) -> Iterator[tuple[Tensor, Tensor]]:
        codes = torch.from_numpy(np.asarray(said.frames, np.int64))
        if not len(codes):
            return
        projected = self.predictor.project(self._hidden(said))
        for rows, row_codes in zip(projected.split(_FRAMES_AT_ONCE), codes.split(_FRAMES_AT_ONCE), strict=True):
            inputs = torch.stack((rows, *(table[row_codes[:, g]] for g, table in enumerate(self._tables))), dim=1)
            states = self._predicted(inputs)
            states[:, 0] = rows
            yield states.half(), row_codes

    def _hidden(self, said: SpokenFrames) -> Tensor:
        """What the talker's hidden state was for each frame, (T, talker_hidden)."""
        prompt = self._prompts.build(said.request)
        request = RequestState("", prompt, said.request.sampling, 0, len(said.frames), prefix=said.frames)
        rows = self._ends.input_rows(request, self._ends.trailing_rows(prompt))
        rotary = RotaryTable(self._config.talker.transformer, len(rows), rows.device)
        hidden = self._talker(rows, rotary.span(0, len(rows)), _Causal(len(rows)))
        return hidden[prompt.num_rows - 1 : -1]

    def _predicted(self, inputs: Tensor) -> Tensor:
        """(N, Q, width) -> (N, Q, width)."""
        num_frames, num_positions, _ = inputs.shape
        sizes = self._config.predictor
        rotary = RotaryTable(sizes.transformer, num_positions, inputs.device)
        rotation = rotary.at(torch.arange(num_positions).repeat(num_frames))
        return self.predictor(inputs.flatten(0, 1), rotation, _Causal(num_positions)).view(inputs.shape).clone()


class _Causal:
    """Sequences of one length, one behind the other."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        attended = F.scaled_dot_product_attention(
            self._by_sequence(queries),
            self._by_sequence(keys),
            self._by_sequence(values),
            is_causal=True,
            enable_gqa=True,
        )
        return attended.transpose(1, 2).reshape(queries.shape[0], -1)

    def _by_sequence(self, heads: Tensor) -> Tensor:
        return heads.view(-1, self._length, *heads.shape[1:]).transpose(1, 2)
