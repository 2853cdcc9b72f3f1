"""Which recognisers a worker has, and for which of its model's languages."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

from worker.speech.quality.listening import RecogniserPool, Recognisers
from worker.speech.quality.recognisers.choice import RecogniserChoice
from worker.speech.quality.recognisers.interface import Recogniser


class RecogniserUnusable(Exception):
    """What the settings name is not installed, or is not there."""


def worker_recognisers(
    choice: RecogniserChoice, whisper_model: Path | None, device: str, languages: Sequence[str], places: int
) -> Recognisers:
    """By language of the model; empty if there is none. Weights are loaded when they are first needed.

    whisper_model: folder of its weights. places: recognitions of Moonshine at the same time, each on a core.
    Raises `RecogniserUnusable`.
    """
    match choice:
        case RecogniserChoice.NONE:
            return {}
        case RecogniserChoice.WHISPER:
            return _whisper(whisper_model, device, languages)
        case RecogniserChoice.MOONSHINE:
            return _moonshine(languages, places)
        case RecogniserChoice.AUTO if whisper_model is not None:
            return _whisper(whisper_model, device, languages)
        case RecogniserChoice.AUTO if moonshine_folders() and _is_installed("onnxruntime"):
            return _moonshine(languages, places)
        case RecogniserChoice.AUTO:
            return {}


def moonshine_folders() -> list[Path]:
    """One with the weights of the extra `listening`, or none: newer versions of its package bring no weights."""
    spec = importlib.util.find_spec("moonshine_voice")  # importing it would load a runtime that is not needed
    folders = [Path(place) / "assets" / "tiny-en" for place in (spec.submodule_search_locations or ())] if spec else []
    return [folder for folder in folders if folder.is_dir()]


def _moonshine(languages: Sequence[str], places: int) -> Recognisers:
    if not moonshine_folders():
        raise RecogniserUnusable("the recogniser wants moonshine-voice 0.1.0: pip install 'rhapsode[listening]'")
    _require("onnxruntime", "listening")

    def make() -> Recogniser:
        from worker.speech.quality.recognisers.moonshine import MoonshineTiny

        return MoonshineTiny()

    return {name: RecogniserPool(make, places) for name in languages if name.casefold() == "english"}


def _whisper(folder: Path | None, device: str, languages: Sequence[str]) -> Recognisers:
    _require("faster_whisper", "whisper")
    if folder is None or not (folder / "model.bin").is_file():
        raise RecogniserUnusable(f"RHAPSODE_WHISPER_MODEL must name a folder with a converted model, not {folder}")
    from worker.speech.quality.recognisers.whisper import LANGUAGE_CODES, FasterWhisper

    def maker(code: str) -> Callable[[], Recogniser]:
        return lambda: FasterWhisper(folder, code, device)

    known = {name: LANGUAGE_CODES[name.casefold()] for name in languages if name.casefold() in LANGUAGE_CODES}
    return {name: RecogniserPool(maker(code), 1) for name, code in known.items()}


def _require(package: str, extra: str) -> None:
    if not _is_installed(package):
        raise RecogniserUnusable(f"the recogniser wants the package {package}: pip install 'rhapsode[{extra}]'")


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
