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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from worker.engine.distil.spoken_frames import SpokenFrames, SpokenStates, say_all
from worker.engine.distil.training import FrameStates, HeadProgress, train_heads
from worker.engine.errors import EngineError
from worker.engine.interface import SamplingParams, TokenSampling
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.draft_heads import write_heads

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
