"""The official package, run one greedy request at a time, with the values it gives its talker written down.

Runs in the environment of requirements.txt only.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# Imported by the 25 Hz tokenizer, which we never run.
_UNUSED_MODULES = ("onnxruntime", "sox", "torchaudio", "torchaudio.compliance", "torchaudio.compliance.kaldi")


@dataclass(frozen=True)
class Generation:
    """What the reference made of one request."""

    prompt_rows: Tensor
    """(L, D): the embeddings that enter the talker."""
    trailing_rows: Tensor
    """(N, D): row n is added to the input that frame n becomes; after them the pad row for ever."""
    codes: Tensor
    """(T, 16)"""
    hidden: Tensor
    """(T, D): the normed last hidden state from which each frame's codebook 0 was taken."""
    ended: bool
    """Whether the end-of-speech id was drawn; otherwise max_new_tokens stopped it."""


class Reference:
    """One checkpoint loaded by the official classes, in float32 on the CPU."""

    def __init__(self, checkpoint: Path) -> None:
        provide_unused_modules()
        from qwen_tts import Qwen3TTSModel  # pyright: ignore[reportMissingImports]

        mask_encoder_as_on_gpu()
        self._wrapper = Qwen3TTSModel.from_pretrained(str(checkpoint), dtype=torch.float32)
        self.model: Any = self._wrapper.model

    @property
    def codec(self) -> Any:
        return self.model.speech_tokenizer.model

    def text_ids(self, text: str) -> list[int]:
        return self._wrapper._tokenize_texts([text])[0][0].tolist()

    def speak(self, method: str, text: str, options: Mapping[str, Any]) -> Generation:
        """Run `generate_custom_voice`, `generate_voice_design` or `generate_voice_clone` greedily."""
        talker, seen = self.model.talker, {}
        original, original_model = talker.generate, self.model.generate

        def generate(**inputs: Any) -> Any:
            seen["inputs"] = inputs
            seen["result"] = original(**inputs)
            return seen["result"]

        def generate_model(**inputs: Any) -> Any:
            seen["output"] = original_model(**inputs)
            return seen["output"]

        talker.generate, self.model.generate = generate, generate_model
        try:
            getattr(self._wrapper, method)(text=text, do_sample=False, subtalker_dosample=False, **options)
        finally:
            del talker.generate, self.model.generate
        codes, hidden = (part[0] for part in seen["output"])
        end = self.model.config.talker_config.codec_eos_token_id
        return Generation(
            prompt_rows=seen["inputs"]["inputs_embeds"][0],
            trailing_rows=seen["inputs"]["trailing_text_hidden"][0],
            codes=codes,
            hidden=hidden,
            ended=bool((seen["result"].sequences[0] == end).any()),
        )

    @torch.inference_mode()
    def encode(self, samples: Tensor) -> Tensor:
        """Codes (T, 16) of mono samples at 24 kHz, encoded alone."""
        mask = torch.ones(1, len(samples), dtype=torch.long)
        return self.codec.encode(samples[None], mask, return_dict=True).audio_codes[0]

    @torch.inference_mode()
    def decode(self, codes: Tensor) -> Tensor:
        """Samples of codes (T, 16), in one pass: the package's own chunks have seams after 300 frames."""
        return self.codec.decoder(codes.T[None])[0, 0]

    @torch.inference_mode()
    def speaker_embedding(self, samples: Tensor) -> Tensor:
        return self.model.extract_speaker_embedding(samples.numpy(), sr=24_000)

    @torch.inference_mode()
    def log_mel(self, samples: Tensor) -> Tensor:
        """(frames, 128) as the speaker encoder gets it."""
        from qwen_tts.core.models.modeling_qwen3_tts import mel_spectrogram  # pyright: ignore[reportMissingImports]

        mel = mel_spectrogram(
            samples[None],
            n_fft=1024,
            num_mels=128,
            sampling_rate=24_000,
            hop_size=256,
            win_size=1024,
            fmin=0,
            fmax=12_000,
        )
        return mel[0].T


def mask_encoder_as_on_gpu() -> None:
    """Let the codec encoder's attention keep to its configured window.

    With FlashAttention, as the package is meant to be run, it does. The two other attention paths of this transformers
    version build a mask without the window; the codes then differ for recordings longer than it (10 s as published).
    """
    from transformers.masking_utils import create_sliding_window_causal_mask  # pyright: ignore[reportMissingImports]
    from transformers.models.mimi import modeling_mimi  # pyright: ignore[reportMissingImports]

    modeling_mimi.create_causal_mask = create_sliding_window_causal_mask


def provide_unused_modules() -> None:
    """Put an empty module in place of each package that is imported and never used."""
    # First: it looks for some of these packages and must not find the empty ones.
    importlib.import_module("transformers")

    for name in _UNUSED_MODULES:
        module = types.ModuleType(name)
        module.__path__ = []
        module.__spec__ = ModuleSpec(name, loader=None)
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
