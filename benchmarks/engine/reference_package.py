"""qwen-tts (the official package) on a checkpoint: static batches of one text, all of one length, decoding included.

    PYTHONPATH=<where qwen-tts is installed> python benchmarks/engine/reference_package.py CHECKPOINT [--batches 1,128]

Prints one JSON object a batch. Started by gpu_engine.py --reference.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

TEXT = "The harbour was quiet that evening and the boats moved slowly against the pier"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batches", default="1,128")
    parser.add_argument("--frames", type=int, default=63)
    arguments = parser.parse_args()
    from qwen_tts import Qwen3TTSModel  # pyright: ignore[reportMissingImports]  # not ours to require

    model = Qwen3TTSModel.from_pretrained(
        str(arguments.checkpoint), device_map=arguments.device, dtype=torch.bfloat16, attn_implementation="sdpa"
    )

    def speak(batch: int, max_new_tokens: int) -> float:
        """Seconds of audio."""
        waves, rate = model.generate_custom_voice(
            text=[TEXT] * batch,
            speaker=["ryan"] * batch,
            language=["english"] * batch,
            max_new_tokens=max_new_tokens,
            do_sample=True,
            temperature=0.9,
            top_k=50,
            repetition_penalty=1.05,
        )
        return sum(len(wave) for wave in waves) / rate

    speak(1, 4)
    for batch in (int(part) for part in arguments.batches.split(",")):
        started_s = time.perf_counter()
        audio_s = speak(batch, arguments.frames)
        wall_s = time.perf_counter() - started_s
        row = {"package": "qwen-tts", "batch": batch, "wall_s": round(wall_s, 2), "audio_s": round(audio_s, 2)}
        print(json.dumps(row | {"audio_s_per_s": round(audio_s / wall_s, 2)}), flush=True)


if __name__ == "__main__":
    main()
