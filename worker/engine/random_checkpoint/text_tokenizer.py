"""A byte-level text tokenizer with the published ids, that spells letter by letter."""

from __future__ import annotations

from pathlib import Path

from worker.engine.random_checkpoint.json_file import write_json

# Added tokens of the text tokenizer, as offsets above the last byte pair id (published: 151643).
TEXT_SPECIALS = {
    "<|endoftext|>": 0,
    "<|im_start|>": 1,
    "<|im_end|>": 2,
    "<|audio_start|>": 26,
    "<|audio_end|>": 27,
    "<tts_pad>": 28,
    "<tts_text_bos>": 29,
    "<tts_text_eod>": 30,
    "<tts_text_bos_single>": 31,
    "<|audio_pad|>": 32,
}
# Words that the prompt templates need as one token each.
ROLE_WORDS = ("assistant", "user", "system")
# Merges that show whether text is split into words, digits and newlines before it is merged.
MORE_MERGES = (
    "Ġ t",
    "h e",
    "Ġt he",
    "i n",
    "Ġ a",
    "o n",
    "r e",
    "e r",
    "Ġ s",
    "l l",
    "' s",
    "1 2",
    "Ċ Ċ",
    ". Ċ",
    "Ġ Ġ",
)


def byte_symbols() -> list[str]:
    """The printable stand-in of each byte in byte-level BPE, in vocabulary order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(unprintable))]


def write_text_tokenizer(out: Path, last_byte_pair: int | None) -> dict[str, int]:
    """Write vocab.json, merges.txt and tokenizer_config.json; gives the ids of the special tokens and "assistant"."""
    spelled = [f"{word[:i]} {word[i]}" for word in ROLE_WORDS for i in range(1, len(word))]
    merges = list(dict.fromkeys([*spelled, *MORE_MERGES]))
    vocab = {symbol: n for n, symbol in enumerate(byte_symbols())}
    for merge in merges:
        vocab.setdefault(merge.replace(" ", ""), len(vocab))
    end = last_byte_pair or len(vocab)
    for n in range(len(vocab), end):  # no text reaches a filler: they hold the published ids in place
        vocab[f"<filler_{n}>"] = n

    specials = {token: end + offset for token, offset in TEXT_SPECIALS.items()}
    names = {n: token for token, n in specials.items()}
    added = {
        str(n): {
            "content": names.get(n, f"<|reserved_{n}|>"),
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for n in range(end, max(specials.values()) + 1)
    }
    write_json(out / "vocab.json", vocab)
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    write_json(
        out / "tokenizer_config.json",
        {
            "add_prefix_space": False,
            "added_tokens_decoder": added,
            "bos_token": None,
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|im_end|>",
            "errors": "replace",
            "model_max_length": 131_072,
            "pad_token": "<|endoftext|>",
            "split_special_tokens": False,
            "tokenizer_class": "Qwen2Tokenizer",
            "unk_token": None,
        },
    )
    return {**specials, "assistant": vocab["assistant"]}
