"""Train the byte-level BPE, in the files of a Qwen2 tokenizer.

    python -m training.corpus.text_tokenizer --corpus corpus.tsv --out DIR

Ids: bytes, merges, then the special tokens. "assistant", "user", "system" and a line end are one token each, as the
prompt template needs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from training.corpus.rows import read_rows
from training.dimensions import TALKER
from training.steps import run_step, step_parser

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPECIAL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>",
    "<tts_text_bos_single>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>",
)  # fmt: skip
_RESERVED = 32
_ROWS = 60_000


def main(argv: Sequence[str] | None = None) -> None:
    parser = step_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = [row.text for row in read_rows(arguments.corpus)[:_ROWS]]
    vocab, merges = _train(lines, TALKER.text_vocab_size - _RESERVED - 12)
    for word in ("assistant", "user", "system"):
        _merge_whole(word, vocab, merges)
    if len(vocab) + len(_SPECIAL) > TALKER.text_vocab_size:
        raise ValueError(f"{len(vocab)} tokens leave no room for the special ones")
    _write(arguments.out, vocab, merges)


def load_encoder(folder: Path, dropout: float | None = None) -> Tokenizer:
    """`dropout`: the share of merges left out at random, for other spellings of the same text."""
    vocab: dict[str, int] = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
    return _encoder(vocab, [_pair(line) for line in lines if not line.startswith("#")], dropout)


def special_ids(folder: Path) -> dict[str, int]:
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    return {token["content"]: int(number) for number, token in config["added_tokens_decoder"].items()}


def _pair(line: str) -> tuple[str, str]:
    left, right = line.split(" ")
    return left, right


def _encoder(vocab: dict[str, int], merges: Sequence[tuple[str, str]], dropout: float | None = None) -> Tokenizer:
    encoder = Tokenizer(models.BPE(vocab=vocab, merges=list(merges), dropout=dropout))
    words = pre_tokenizers.Split(Regex(_WORDS), "isolated")
    encoder.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return encoder


def _train(lines: Sequence[str], size: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    encoder = _encoder({}, [])
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    encoder.train_from_iterator(lines, trainer)
    model = json.loads(encoder.to_str())["model"]
    return model["vocab"], [(left, right) for left, right in model["merges"]]


def _merge_whole(word: str, vocab: dict[str, int], merges: list[tuple[str, str]]) -> None:
    pieces = _encoder(vocab, merges).encode(word).tokens
    while len(pieces) > 1:
        joined = pieces[0] + pieces[1]
        merges.append((pieces[0], pieces[1]))
        vocab.setdefault(joined, len(vocab))
        pieces = [joined, *pieces[2:]]


def _write(folder: Path, vocab: dict[str, int], merges: Sequence[tuple[str, str]]) -> None:
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    added = {
        str(len(vocab) + number): {
            "content": content, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False,
            "special": True,
        }
        for number, content in enumerate(_SPECIAL)
    }  # fmt: skip
    config = {
        "tokenizer_class": "Qwen2Tokenizer", "add_bos_token": False, "add_prefix_space": False, "bos_token": None,
        "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None, "errors": "replace",
        "clean_up_tokenization_spaces": False, "model_max_length": 8192, "split_special_tokens": False,
        "additional_special_tokens": list(_SPECIAL[1:]), "added_tokens_decoder": added,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


if __name__ == "__main__":
    run_step(main)
