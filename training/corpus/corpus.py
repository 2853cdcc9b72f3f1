"""Write the corpus, in the lines of `rows`.

    python -m training.corpus.corpus --root UNPACKED --unseen TEXT --out corpus.tsv

Sources, all Debian packages unpacked with `dpkg -x` into --root, templates and word salads of our own:
  wordnet-base             example phrases and definitions   (WordNet 3.0 licence)
  fortunes-min, fortunes   short quotations                  (BSD)
  r-cran-janeaustenr       Jane Austen's novels              (public domain text)
  bible-kjv-text           the King James Bible              (public domain text; bible-kjv prints it)
Sentences of the --unseen files are taken out, compared by their letters; those of the first file are the split "test".
The list that keeps rare words out is PyPI `wordfreq` (Apache-2.0). No text is shipped.
"""

from __future__ import annotations

import argparse
import logging
import random
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from training.corpus.coverage import covering_sentences
from training.corpus.rows import Row, write_rows
from training.corpus.sentences import EVERYDAY, HARVARD, template_sentence
from training.steps import Unusable, run_step, step_parser

logger = logging.getLogger(__name__)

_MOST = {"examples": 60_000, "definitions": 90_000, "austen": 30_000, "fortunes": 20_000, "bible": 16_000,
         "templates": 30_000}  # fmt: skip
_MAX_GROUP_CHARS = 285
_SHORT_WORDS = frozenset(
    [
        "a",
        "i",
        "am",
        "an",
        "as",
        "at",
        "be",
        "by",
        "do",
        "go",
        "he",
        "if",
        "in",
        "is",
        "it",
        "me",
        "my",
        "no",
        "of",
        "on",
        "or",
        "so",
        "to",
        "up",
        "us",
        "we",
    ]
)
_ALLOWED = re.compile(r"[A-Za-z ,.'?!-]+")
_ABBREVIATION = re.compile(r"[A-Z]{2}|\b[A-Z][a-z]{0,2}\.")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_HELDOUT_SENTENCES = 240
_COVERED_WORDS = 30_000


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    rows = corpus_rows(arguments.root, arguments.unseen, _common_words(), random.Random(arguments.seed))
    write_rows(arguments.out, rows)
    logger.info("%d rows, %d words", len(rows), sum(row.spoken.count(" ") + 1 for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--root", type=Path, required=True, help="folder where the Debian packages were unpacked")
    parser.add_argument("--unseen", type=Path, nargs="+", required=True, help="texts that must not be trained on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    return parser


def corpus_rows(root: Path, unseen: Sequence[Path], words: Sequence[str], rng: random.Random) -> list[Row]:
    """words: the common ones, most frequent first. What is never trained on comes first."""
    sentences = _choose(_pools(root, words, rng), _forbidden(unseen))
    rng.shuffle(sentences)
    held_out, seen = _split(sentences)
    seen += _salads(words, seen, rng)
    rng.shuffle(seen)
    test = [line for line in unseen[0].read_text(encoding="utf-8").splitlines() if line.strip()]
    kept_back = {"harvard": HARVARD, "everyday": EVERYDAY, "test": test, "heldout": held_out}
    plain = [(split, text, text) for split, texts in kept_back.items() for text in texts]
    trained = [("train", decorate(text, rng), text) for text in _grouped(seen, rng)]
    return [Row(number, *row) for number, row in enumerate((*plain, *trained))]


def _salads(words: Sequence[str], seen: Sequence[str], rng: random.Random) -> list[str]:
    """Sentences without a sense, for the words that lack."""
    counts = Counter(word for sentence in seen for word in re.findall(r"[a-z']+", sentence.lower()))
    salads = [_finished(sentence) for sentence in covering_sentences(words[:_COVERED_WORDS], counts, rng)]
    logger.info("coverage: %d", len(salads))
    return salads


def letters(text: str) -> str:
    """What two texts are compared by."""
    return re.sub(r"[^a-z]", "", text.lower())


def _forbidden(paths: Sequence[Path]) -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in paths]
    sentences = [s for text in texts for line in text.splitlines() for s in _SENTENCE_END.split(line)]
    return {letters(sentence) for sentence in (*sentences, *HARVARD, *EVERYDAY)}


def decorate(sentence: str, rng: random.Random) -> str:
    """The same words with marks that the voices ignore: quotes, brackets, dashes, semicolons, curly apostrophes."""
    text = sentence
    if ", " in text and rng.random() < 0.16:
        at = rng.choice([m.start() for m in re.finditer(", ", text)])
        text = text[:at] + rng.choice(("; ", ": ", "—", "; ")) + text[at + 2 :]
    if rng.random() < 0.09:
        words = text.split(" ")
        first = rng.randrange(len(words))
        last = min(len(words) - 1, first + rng.choice((0, 1, 2, 4, 8, 30)))
        opening, closing = rng.choice(("“”", '""', "“”", "()", "‘’"))
        words[first] = opening + words[first]
        words[last] += closing
        text = " ".join(words)
    if "'" in text and rng.random() < 0.3:
        text = text.replace("'", "’")
    if text.endswith(".") and rng.random() < 0.04:
        text = text[:-1] + rng.choice(("...", "…", "", "!"))
    if rng.random() < 0.03:
        text = text.lower()
    return text


def _split(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """(never trained on, trained on). The first are 3 to 30 words long."""
    unseen: list[str] = []
    seen: list[str] = []
    for sentence in sentences:
        fits = 3 <= len(sentence.split()) <= 30 and not any(mark.isdigit() for mark in sentence)
        (unseen if fits and len(unseen) < _HELDOUT_SENTENCES else seen).append(sentence)
    return unseen, seen


def _grouped(sentences: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Alone, or several as a narration packs them; about half of the sound is in groups."""
    queue = iter(sentences)
    for sentence in queue:
        group = sentence
        limit = rng.choice((0, 0, 0, 140, 220, _MAX_GROUP_CHARS))
        while len(group) < limit - 30:
            following = next(queue, None)
            if following is None:
                break
            if len(group) + 1 + len(following) > _MAX_GROUP_CHARS:
                yield following
                break
            group += " " + following
        yield group


def _choose(pools: Mapping[str, Sequence[str]], forbidden: set[str]) -> list[str]:
    held = set(forbidden)
    chosen: list[str] = []
    for name, pool in pools.items():
        fresh: list[str] = []
        for sentence in pool:
            if len(fresh) >= _MOST[name]:
                break
            key = letters(sentence)
            if key not in held:
                held.add(key)
                fresh.append(sentence)
        logger.info("%s: %d of %d", name, len(fresh), len(pool))
        chosen += fresh
    return chosen


def _common_words() -> list[str]:
    """Most frequent first. Raises Unusable without the package that counted them."""
    try:
        from wordfreq import top_n_list  # pyright: ignore[reportMissingImports]  # only the extra `training` brings it
    except ImportError as error:
        raise Unusable("the list of common words comes with pip install 'rhapsode[training]'") from error

    return [
        word
        for word in top_n_list("en", 45_000)
        if re.fullmatch(r"[a-z]*[aeiouy][a-z]*('[a-z]+)?", word) and (len(word) > 2 or word in _SHORT_WORDS)
    ]


def _pools(root: Path, words: Sequence[str], rng: random.Random) -> dict[str, list[str]]:
    known = frozenset(words)
    examples, definitions = _wordnet(root)
    pools = {
        "examples": _kept(examples, known, 8, 150),
        "definitions": _kept(definitions, known, 12, 150),
        "austen": _kept(_austen(root), known, 10, 220),
        "fortunes": _kept(_fortunes(root), known, 10, 180),
        "bible": _kept(_bible(root), known, 10, 200),
        "templates": sorted({template_sentence(rng) for _ in range(60_000)}),
    }
    for pool in pools.values():
        rng.shuffle(pool)
    return pools


def _kept(sentences: Sequence[str], known: frozenset[str], shortest: int, longest: int) -> list[str]:
    cleaned = {_clean(sentence) for sentence in sentences}
    return sorted({_finished(s) for s in cleaned if _is_plain(s, known, shortest, longest)})


def _is_plain(sentence: str, known: frozenset[str], shortest: int, longest: int) -> bool:
    if not shortest <= len(sentence) <= longest or not _ALLOWED.fullmatch(sentence):
        return False
    words = re.findall(r"[A-Za-z']+", sentence)
    if any(len(word) == 1 and word not in "aAI" for word in words) or _ABBREVIATION.search(sentence):
        return False
    return all(word.lower().strip("'") in known for word in words)


def _wordnet(root: Path) -> tuple[list[str], list[str]]:
    examples: list[str] = []
    definitions: list[str] = []
    for path in sorted(root.glob("**/wordnet/data.*")):
        for line in path.read_text(encoding="utf-8", errors="ignore").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            gloss = line.split(" | ", 1)[1].strip()
            examples += re.findall(r'"([^"]+)"', gloss)
            definitions.append(re.sub(r'"[^"]*"|\([^)]*\)', "", gloss).split(";")[0].strip())
    return examples, definitions


def _austen(root: Path) -> list[str]:
    """The novels out of R's data base: every object is a length of four bytes and a zlib stream."""
    sentences: list[str] = []
    for path in sorted(root.glob("**/janeaustenr/data/Rdata.rdb")):
        raw, at = path.read_bytes(), 0
        while at < len(raw):
            try:
                stream = zlib.decompressobj()
                blob = stream.decompress(raw[at + 4 :])
                at = len(raw) - len(stream.unused_data)
            except zlib.error:
                at += 1
                continue
            text = " ".join(run.decode() for run in re.findall(rb"[\x20-\x7e]{3,}", blob))
            sentences += _SENTENCE_END.split(text)
    return sentences


def _fortunes(root: Path) -> list[str]:
    sentences: list[str] = []
    for path in sorted(root.glob("**/games/fortunes/*")):
        if "." in path.name:
            continue
        for quotation in path.read_text(encoding="utf-8", errors="ignore").split("\n%\n"):
            text = re.sub(r"\s+", " ", quotation.split("--")[0]).strip()
            if "\x08" not in text:
                sentences += _SENTENCE_END.split(text)
    return sentences


def _bible(root: Path) -> list[str]:
    """A verse a line, behind its place."""
    command = [str(root / "usr/bin/bible"), "-f", "-p", f"{root}/usr/lib/", "ge1:1-rev22:21"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    verses = [line.split(" ", 1)[1] for line in printed.splitlines() if " " in line]
    return [sentence for verse in verses for sentence in _SENTENCE_END.split(verse)]


_REPLACEMENTS: tuple[tuple[str, str], ...] = (
    ("\u2019", "'"), ("`", "'"), ("_", ""), ("--", ", "), (";", ","), (":", ","), ('"', ""), ("*", ""),
)  # fmt: skip


def _clean(sentence: str) -> str:
    for old, new in _REPLACEMENTS:
        sentence = sentence.replace(old, new)
    return re.sub(r"\s+", " ", sentence).replace(" ,", ",").strip(" ,.-'")


def _finished(sentence: str) -> str:
    sentence = sentence[0].upper() + sentence[1:]
    return sentence if sentence[-1] in ".?!" else sentence + "."


if __name__ == "__main__":
    run_step(main)
