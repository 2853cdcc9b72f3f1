"""Train draft heads for a checkpoint on what it says itself, and write them beside it.

    python -m worker.engine.distil.distil_draft --checkpoint DIR --text FILE

The text has one sentence a line: a thousand or more, of the kind that will be spoken. A tenth of them is not trained
on; their hit rate is printed. `--temperature` speaks all of it once more, codes drawn with it and a
top-k of 20.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.distil.training import FrameStates, HeadProgress, train_heads
from worker.engine.errors import EngineError
from worker.engine.interface import BuiltInSpeaker, CodecFrames, Engine, SamplingParams, SpeechRequest, TokenSampling
from worker.engine.model.config import read_model_config
from worker.engine.model.layers import RotaryTable
from worker.engine.model.speech_modules import load_modules
from worker.engine.native import NativeEngine
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.request_state import RequestState
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.code_predictor import input_tables
from worker.engine.stages.draft_heads import write_heads
from worker.engine.stages.talker_embeddings import TalkerEnds

logger = logging.getLogger(__name__)

_LEAST_SENTENCES = 20
_UNSEEN_SHARE = 10
"""One of so many sentences is not trained on."""
_TOLD_EVERY = 50


class DraftUntrainable(Exception):
    """What was asked for cannot be trained; the message is one sentence for who asked."""


def main(argv: Sequence[str] | None = None) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    arguments = _parser().parse_args(argv)
    try:
        distil(arguments)
    except (DraftUntrainable, EngineError, OSError) as error:
        sys.exit(f"distil-draft: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--rank", type=int, default=128, help="inner width of a head")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--device", default="cpu", help="that speaks; heads are trained on the CPU")
    parser.add_argument("--slots", type=int, default=16)
    return parser


def distil(arguments: argparse.Namespace) -> None:
    texts = _texts(arguments.text)
    settings = NativeEngineSettings(arguments.checkpoint, slots=arguments.slots, live_slots=0, device=arguments.device)
    seen, unseen = _divided(_said(settings, texts, arguments.temperature))
    began_s = time.monotonic()
    states = SpokenStates(arguments.checkpoint)
    known, asked = states.of(seen), states.of(unseen)
    logger.info("%d frames to train on, %d to ask about", len(known.codes), len(asked.codes))
    _require_frames(known, asked)
    heads = states.predictor.heads.weight.detach()
    weights = train_heads(known, asked, heads, arguments.rank, arguments.epochs, _tell_head)
    path = write_heads(weights, arguments.checkpoint)
    logger.info("%s: %.1f MB, trained in %.0f s", path, path.stat().st_size / 1e6, time.monotonic() - began_s)


def _texts(path: Path) -> list[str]:
    if not path.is_file():
        raise DraftUntrainable(f"there is no text {path}")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DraftUntrainable(f"{path} is not UTF-8") from error
    texts = [line.strip() for line in lines if line.strip()]
    if len(texts) < _LEAST_SENTENCES:
        raise DraftUntrainable(
            f"{path} has {len(texts)} sentences; {_LEAST_SENTENCES} are the least, a thousand are better"
        )
    return texts


def _said(settings: NativeEngineSettings, texts: Sequence[str], temperature: float | None) -> tuple[SpokenFrames, ...]:
    engine = NativeEngine(settings)
    try:
        if not engine.info.speakers:
            raise DraftUntrainable("the checkpoint has no built-in voices")
        rounds = [engine.info.default_sampling]
        if temperature is not None:
            rounds.append(_drawn(rounds[0], temperature))
        said: list[SpokenFrames] = []
        for sampling in rounds:
            said += say_all(engine, texts, sampling, lambda done: _tell_speech(done, len(texts)))
        return tuple(said)
    finally:
        engine.close()


def _drawn(sampling: SamplingParams, temperature: float) -> SamplingParams:
    drawn = TokenSampling(temperature=temperature, top_k=20, top_p=1.0)
    return replace(sampling, talker=drawn, predictor=drawn)


def _divided(said: Sequence[SpokenFrames]) -> tuple[list[SpokenFrames], list[SpokenFrames]]:
    """By text, so that no text is in both."""
    seen = [one for one in said if one.request.seed % _UNSEEN_SHARE]
    return seen, [one for one in said if not one.request.seed % _UNSEEN_SHARE]


def _require_frames(*parts: FrameStates) -> None:
    if not all(len(part.codes) for part in parts):
        raise DraftUntrainable("the checkpoint said nothing of the text")


def _tell_speech(done: int, wanted: int) -> None:
    if done % _TOLD_EVERY == 0 or done == wanted:
        logger.info("said %d of %d sentences", done, wanted)


def _tell_head(progress: HeadProgress) -> None:
    logger.info(
        "codebook %d: the likeliest code is the first guess in %.0f %% of the frames, one of three in %.0f %%",
        progress.position + 1,
        100 * progress.first_guess,
        100 * progress.three_guesses,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()


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
