"""A byte-level text tokenizer with the published ids, that spells letter by letter."""

from __future__ import annotations

from pathlib import Path

from worker.engine.random_checkpoint.configuration import PUBLISHED
from worker.engine.random_checkpoint.json_file import write_json

# Words that the prompt templates need as one token each.
ROLE_WORDS = ("assistant", "user", "system")


def byte_symbols() -> list[str]:
    """The printable stand-in of each byte in byte-level BPE, in vocabulary order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(unprintable))]


def write_text_tokenizer(out: Path, last_byte_pair: int | None) -> dict[str, int]:
    """Write vocab.json, merges.txt and tokenizer_config.json; gives the ids of the special tokens and "assistant"."""
    spelled = [f"{word[:i]} {word[i]}" for word in ROLE_WORDS for i in range(1, len(word))]
    merges = list(dict.fromkeys([*spelled, *PUBLISHED["merges"]]))
    vocab = {symbol: n for n, symbol in enumerate(byte_symbols())}
    for merge in merges:
        vocab.setdefault(merge.replace(" ", ""), len(vocab))
    end = last_byte_pair or len(vocab)
    for n in range(len(vocab), end):  # no text reaches a filler: they hold the published ids in place
        vocab[f"<filler_{n}>"] = n

    specials = {token: end + offset for token, offset in PUBLISHED["text_specials"].items()}
    names = {n: token for token, n in specials.items()}
    added = {
        str(n): {**PUBLISHED["added_token"], "content": names.get(n, f"<|reserved_{n}|>")}
        for n in range(end, max(specials.values()) + 1)
    }
    write_json(out / "vocab.json", vocab)
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    write_json(out / "tokenizer_config.json", {**PUBLISHED["text_tokenizer"], "added_tokens_decoder": added})
    return {**specials, "assistant": vocab["assistant"]}
