"""Record what the official package makes of the tiny checkpoints; our engine is tested against it.

    PYTHONPATH=. python tests/parity/record.py

Run it in the environment of requirements.txt. README.md lists the files. Their arrays:

`<variant>.safetensors`, by request:
    <name>.prompt_rows       (L, D) float32   talker inputs
    <name>.trailing_rows     (N, D) float32   row n is added to the input after frame n, later the pad row
    <name>.codes             (T, 16) int16    frames
    <name>.hidden            (T, D) float32   normed last hidden state of each frame's codebook 0
    reference.<clip>.speaker_embedding, .ref_code   (D,) float32, (R, 16) int16   clone prompt (`base`)
`codec.safetensors`, from `base`: decode.codes (40, 16) int16, decode.pcm (76800,) float32,
    encode.<clip>.pcm16 (S,) int16, encode.<clip>.codes (T, 16) int16
`speaker.safetensors`, from `base`: pcm16 (S,) int16, log_mel (frames, 128) float32, speaker_embedding (64,) float32
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from reference import Generation, Reference
from safetensors.torch import save_file
from torch import Tensor

from tests.tiny_checkpoint import make_checkpoint
from worker.engine.random_checkpoint.shapes import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME

TEXT_MODES = {"whole": True, "per_frame": False}  # our name -> upstream's non_streaming_mode
SEED = 3
# By trial: some utterances of each variant end by themselves, others run into max_new_tokens.
EOS_GAIN = {"base": 1.0, "custom_voice": 1.3, "voice_design": 1.0}
DEFAULT_PENALTY = 1.05


@dataclass(frozen=True)
class Request:
    """One greedy request, in the engine's words."""

    text: str
    language: str = "auto"
    conditioning: Mapping[str, str] = field(default_factory=dict)
    max_new_tokens: int = 20
    penalty: float = DEFAULT_PENALTY


SHORT, LONG = 7, 40
SENTENCES = (
    ("Hi.", "auto", SHORT),
    ("No, thanks.", "english", 20),
    ("It's 12 o'clock in the tower.", "auto", 20),
    ("Grüße aus Köln!", "german", 20),
    ("天气很好，我们走吧。", "chinese", 20),
    ("She sells seashells on the shore, all year; they're real ones.", "english", LONG),
)
SPEAKERS = ("ryan", "Vivian", "eric", "serena", "dylan", "uncle_fu")
INSTRUCTIONS = ("", "Speak slowly.", "", "", "Whisper.", "")
DESCRIPTIONS = ("A calm old man.", "A cheerful girl", "", "Deep, hoarse.", "Ein ruhiger Erzähler.", "young")
REFERENCES = ("short", "long", "short", "long", "short", "long")
REFERENCE_TEXTS = {"short": "Hello there.", "long": "In the end it was all right."}
DECODED_FRAMES = 40
ENCODED_SAMPLES = {"whole_frames": 16 * SAMPLES_PER_FRAME, "ragged": 9 * SAMPLES_PER_FRAME + 700, "one_frame": 1000}
SPEAKER_SAMPLES = 26_000
REFERENCE_SAMPLES = {"short": 8 * SAMPLES_PER_FRAME, "long": 27 * SAMPLES_PER_FRAME}

BPE_TEXTS = (
    "Hello there.",
    "the the  the   the",
    "It's 1234 o'clock; I'LL be there, they're not.",
    "tab\tand\nnewline\n\nand. \n\n end",
    "naïve café vs. decomposed cafe\u0301 and Å A\u030a",
    "你好，世界。 こんにちは 안녕하세요",
    "emoji 👩‍👩‍👧 and 🇩🇪 flags",
    "  leading and trailing  ",
    "x²+½=3,14 € — “quoted”…",
    "camelCase snake_case kebab-case http://a.b/c?d=e#f",
    "Привет, мир! مرحبا שלום",
    "",
)


def custom_voice_requests() -> list[Request]:
    rows = zip(SENTENCES, SPEAKERS, INSTRUCTIONS, strict=True)
    return [
        Request(text, language, {"speaker": speaker, "instruction": instruction}, limit)
        for (text, language, limit), speaker, instruction in rows
    ] + [Request("Once more, without a penalty.", "english", {"speaker": "aiden", "instruction": ""}, penalty=1.0)]


def voice_design_requests() -> list[Request]:
    return [
        Request(text, language, {"description": description}, limit)
        for (text, language, limit), description in zip(SENTENCES, DESCRIPTIONS, strict=True)
    ] + [Request("Once more, with a large one.", "french", {"description": "Any."}, penalty=1.3)]


def x_vector_requests() -> list[Request]:
    return [
        Request(text, language, {"reference": reference, "ref_text": ""}, limit)
        for (text, language, limit), reference in zip(SENTENCES, REFERENCES, strict=True)
    ]


def in_context_requests() -> list[Request]:
    return [
        Request(text, language, {"reference": reference, "ref_text": REFERENCE_TEXTS[reference]}, limit)
        for (text, language, limit), reference in zip(SENTENCES, REFERENCES, strict=True)
    ]


# ---------------------------------------------------------------------------------------------- one variant


class Recording:
    """The two files of one variant: requests with their ids in JSON, arrays in safetensors."""

    def __init__(self, variant: str, checkpoint_digest: str) -> None:
        self._variant = variant
        self._checkpoint = {
            "size": "tiny",
            "variant": variant,
            "seed": SEED,
            "eos_gain": EOS_GAIN[variant],
            "digest": checkpoint_digest,
        }
        self._requests: list[dict[str, Any]] = []
        self._facts: dict[str, Any] = {}
        self._tensors: dict[str, Tensor] = {}

    def add_tensors(self, **tensors: Tensor) -> None:
        self._tensors |= {name: tensor.contiguous().clone() for name, tensor in tensors.items()}

    def add_fact(self, name: str, value: object) -> None:
        self._facts[name] = value

    def add_request(self, name: str, mode: str, request: Request, result: Generation) -> None:
        self._requests.append(
            {
                "name": name,
                "conditioning": dict(request.conditioning),
                "text": request.text,
                "language": request.language,
                "text_mode": mode,
                "repetition_penalty": request.penalty,
                "max_frames": request.max_new_tokens - 1,
                "num_frames": len(result.codes),
                "finish_reason": "eos" if result.ended else "length",
            }
        )
        self.add_tensors(
            **{
                f"{name}.prompt_rows": result.prompt_rows,
                f"{name}.trailing_rows": result.trailing_rows,
                f"{name}.codes": result.codes.to(torch.int16),
                f"{name}.hidden": result.hidden,
            }
        )

    def write(self, folder: Path) -> None:
        """Raises ValueError if an utterance ended exactly where max_new_tokens would have stopped it."""
        undecided = [
            r["name"] for r in self._requests if r["finish_reason"] == "eos" and r["num_frames"] == r["max_frames"]
        ]
        if undecided:
            raise ValueError(f"choose another seed: {undecided} could have stopped for either reason")
        facts = {"checkpoint": self._checkpoint, **self._facts, "requests": self._requests}
        text = json.dumps(facts, indent=1, ensure_ascii=False)
        (folder / f"{self._variant}.json").write_text(text + "\n", encoding="utf-8")
        save_file(self._tensors, folder / f"{self._variant}.safetensors")
        lengths = ", ".join(f"{r['num_frames']}{r['finish_reason'][0]}" for r in self._requests)
        sys.stdout.write(f"{self._variant}: {len(self._requests)} requests, frames {lengths}\n")


def record_custom_voice(folder: Path) -> None:
    with checkpoint("custom_voice") as (reference, recording):
        recording.add_fact("bpe", [{"text": text, "ids": reference.text_ids(text)} for text in BPE_TEXTS])
        for name, mode, request in in_each_text_mode("custom_voice", custom_voice_requests()):
            options = {
                "speaker": request.conditioning["speaker"],
                "instruct": request.conditioning["instruction"],
                **common_options(request, mode),
            }
            recording.add_request(name, mode, request, reference.speak("generate_custom_voice", request.text, options))
        recording.write(folder)


def record_voice_design(folder: Path) -> None:
    with checkpoint("voice_design") as (reference, recording):
        for name, mode, request in in_each_text_mode("voice_design", voice_design_requests()):
            options = {"instruct": request.conditioning["description"], **common_options(request, mode)}
            recording.add_request(name, mode, request, reference.speak("generate_voice_design", request.text, options))
        recording.write(folder)


def record_base(folder: Path) -> None:
    with checkpoint("base") as (reference, recording):
        for clip, num_samples in REFERENCE_SAMPLES.items():
            samples = as_float(clip_pcm16(num_samples, clip))
            recording.add_tensors(
                **{
                    f"reference.{clip}.speaker_embedding": reference.speaker_embedding(samples),
                    f"reference.{clip}.ref_code": reference.encode(samples).to(torch.int16),
                }
            )
        for name, mode, request in in_each_text_mode("x_vector", x_vector_requests()):
            recording.add_request(name, mode, request, clone(reference, request, mode))
        for name, mode, request in in_each_text_mode("in_context", in_context_requests()):
            recording.add_request(name, mode, request, clone(reference, request, mode))
        recording.write(folder)
        record_codec(reference, folder)
        record_speaker(reference, folder)


def clone(reference: Reference, request: Request, mode: str) -> Generation:
    clip, ref_text = request.conditioning["reference"], request.conditioning["ref_text"]
    options = {
        "ref_audio": (as_float(clip_pcm16(REFERENCE_SAMPLES[clip], clip)).numpy(), SAMPLE_RATE_HZ),
        "ref_text": ref_text or None,
        "x_vector_only_mode": not ref_text,
        **common_options(request, mode),
    }
    return reference.speak("generate_voice_clone", request.text, options)


def common_options(request: Request, mode: str) -> dict[str, Any]:
    return {
        "language": request.language,
        "non_streaming_mode": TEXT_MODES[mode],
        "max_new_tokens": request.max_new_tokens,
        "repetition_penalty": request.penalty,
    }


def in_each_text_mode(task: str, requests: list[Request]) -> Iterator[tuple[str, str, Request]]:
    """Yields (request name, text mode, request)."""
    for mode in TEXT_MODES:
        for n, request in enumerate(requests):
            yield f"{task}.{mode}.{n}", mode, request


@contextmanager
def checkpoint(variant: str) -> Generator[tuple[Reference, Recording]]:
    """The reference with the tiny checkpoint of one variant, and an empty recording of it."""
    with tempfile.TemporaryDirectory() as folder:
        digest = make_checkpoint(Path(folder), "tiny", variant, SEED, EOS_GAIN[variant])
        yield Reference(Path(folder)), Recording(variant, digest)


# ---------------------------------------------------------------------------------------------- codec and speaker


def record_codec(reference: Reference, folder: Path) -> None:
    tensors: dict[str, Tensor] = {}
    # Longer than two attention windows of the tiny decoder, so that keys fall out of the window in both layers.
    codes = torch.from_numpy(generator("codes").integers(0, 64, size=(DECODED_FRAMES, 16)))
    tensors["decode.codes"] = codes.to(torch.int16)
    tensors["decode.pcm"] = reference.decode(codes)
    for clip, num_samples in ENCODED_SAMPLES.items():
        pcm16 = clip_pcm16(num_samples, clip)
        samples = as_float(pcm16)
        padded = torch.nn.functional.pad(samples, (0, -num_samples % SAMPLES_PER_FRAME))
        tensors[f"encode.{clip}.pcm16"] = pcm16
        tensors[f"encode.{clip}.codes"] = reference.encode(padded).to(torch.int16)
    save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, folder / "codec.safetensors")


def record_speaker(reference: Reference, folder: Path) -> None:
    pcm16 = clip_pcm16(SPEAKER_SAMPLES, "speaker")
    samples = as_float(pcm16)
    tensors = {
        "pcm16": pcm16,
        "log_mel": reference.log_mel(samples).contiguous(),
        "speaker_embedding": reference.speaker_embedding(samples).contiguous(),
    }
    save_file(tensors, folder / "speaker.safetensors")


def clip_pcm16(num_samples: int, name: str) -> Tensor:
    """Something between a voice and a siren: harmonics of a gliding pitch, silence between syllables, and noise."""
    draw = generator(name)
    time_s = np.arange(num_samples) / SAMPLE_RATE_HZ
    pitch_hz = 110 + 90 * draw.random() + 40 * np.sin(2 * np.pi * 1.3 * time_s)
    phase = 2 * np.pi * np.cumsum(pitch_hz) / SAMPLE_RATE_HZ
    voice = sum(np.sin(h * phase + draw.random()) / h for h in range(1, 24))
    loudness = np.clip(np.sin(2 * np.pi * 3.1 * time_s + draw.random()), 0, 1)
    samples = 0.2 * voice * loudness + 0.02 * draw.standard_normal(num_samples)
    return torch.from_numpy(np.round(np.clip(samples, -1, 1) * 32767).astype(np.int16))


def as_float(pcm16: Tensor) -> Tensor:
    return pcm16.float() / 32768


def generator(name: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([zlib.crc32(name.encode()), SEED]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the official package's outputs as fixtures.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "fixtures")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    record_custom_voice(folder)
    record_voice_design(folder)
    record_base(folder)
    size = sum(file.stat().st_size for file in folder.iterdir())
    sys.stdout.write(f"{size:,} bytes\n")


if __name__ == "__main__":
    main()
