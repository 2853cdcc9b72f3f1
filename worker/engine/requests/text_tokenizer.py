"""Text to token ids: the byte-level BPE of Qwen2, from the published `vocab.json` and `merges.txt`.

Special tokens are not part of the encoder at all, so no text can produce their ids; prompts splice them in by id.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from worker.engine.errors import CheckpointError, RequestRejected
from worker.engine.model.config import TextControlIds, read_config

# Qwen2's division of text into words: contractions, letters with one leading mark, single digits, punctuation with
# its line ends, line ends, spaces.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class TextTokenizer:
    """Thread-safe: the encoder is immutable."""

    def __init__(self, encoder: Tokenizer) -> None:
        self._encoder = encoder
        self._words = _divided_into_words()

    @classmethod
    def load(cls, checkpoint: Path, control: TextControlIds) -> TextTokenizer:
        """Raises CheckpointError when a file is missing, unreadable, or contradicts the control ids."""
        vocab = _read_vocab(checkpoint / "vocab.json")
        merges = _read_merges(checkpoint / "merges.txt")
        _require_control_tokens(checkpoint / "tokenizer_config.json", vocab, control)
        try:
            encoder = Tokenizer(BPE(vocab, merges))
        except Exception as error:  # the Rust side raises bare Exception
            raise CheckpointError(f"{checkpoint}: merges.txt does not fit vocab.json: {error}") from error
        encoder.normalizer = NFC()
        encoder.pre_tokenizer = Sequence([_divided_into_words(), ByteLevel(add_prefix_space=False, use_regex=False)])
        return cls(encoder)

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of exactly this text. Raises RequestRejected when it is not Unicode text (lone surrogates)."""
        _require_unicode(text)
        return tuple(self._encoder.encode(text, add_special_tokens=False).ids)

    def word_starts(self, text: str) -> list[int]:
        """Where the words begin that are encoded one by one; each may have a blank before its letters.

        Raises as `encode` does.
        """
        _require_unicode(text)
        return [start for _, (start, _) in self._words.pre_tokenize_str(text)]


def _require_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RequestRejected("the text holds a lone surrogate: it is not valid Unicode") from error


def _divided_into_words() -> Split:
    return Split(Regex(_WORDS), behavior="isolated")


def _read_vocab(path: Path) -> dict[str, int]:
    fields = read_config(path)
    return {token: fields.integer(token) for token in fields.names()}


def _read_merges(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"cannot read the merges in {path}: {error}") from error
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        left, separator, right = line.partition(" ")
        if not separator or not left or not right or " " in right:
            raise CheckpointError(f"{path}:{number} is not a pair of tokens: {line!r}")
        merges.append((left, right))
    return merges


def _require_control_tokens(path: Path, vocab: dict[str, int], control: TextControlIds) -> None:
    added = read_config(path).section("added_tokens_decoder")
    expected = {
        control.im_start: "<|im_start|>",
        control.im_end: "<|im_end|>",
        control.tts_pad: "<tts_pad>",
        control.tts_bos: "<tts_text_bos>",
        control.tts_eos: "<tts_text_eod>",
    }
    text_ids = set(vocab.values())
    for token_id, content in expected.items():
        found = added.section(str(token_id)).text("content")
        if found != content:
            raise added.wrong(str(token_id), f"is {found!r}, config.json says it is {content!r}")
        if token_id in text_ids:
            raise added.wrong(str(token_id), f"({content}) is an id that vocab.json gives to text")
