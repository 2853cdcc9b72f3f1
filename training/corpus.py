"""Write the corpus: one `id<TAB>split<TAB>text<TAB>spoken` line each.

    python -m training.corpus --root UNPACKED --out corpus.tsv

`text` is what the talker will read, with the marks that real texts have; `spoken` is the same words as the voices
take them. Both have the same number of blank-separated words.

Sources, all Debian packages unpacked with `dpkg -x` into --root, and templates of our own:
  wordnet-base         example phrases and definitions   (WordNet 3.0 licence)
  fortunes-min         short quotations                  (BSD)
  r-cran-janeaustenr   Jane Austen's novels              (public domain text)
The list that keeps rare words out is PyPI `wordfreq` (Apache-2.0). No text is shipped.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from training.sentences import EVERYDAY, HARVARD, template_sentence

_SHARES = {"examples": 0.36, "definitions": 0.16, "austen": 0.14, "fortunes": 0.04, "templates": 0.16, "lists": 0.14}
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
_TEST_SENTENCES = 160
_HELDOUT_SENTENCES = 80


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="folder where the Debian packages were unpacked")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=150_000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    sentences = _choose(_pools(arguments.root, rng), arguments.sentences, rng)
    rows = [("harvard", s, s) for s in HARVARD] + [("everyday", s, s) for s in EVERYDAY]
    unseen, seen = _split(sentences)
    rows += [("test", s, s) for s in unseen[:_TEST_SENTENCES]]
    rows += [("heldout", s, s) for s in unseen[_TEST_SENTENCES:]]
    rows += [("train", decorate(s, rng), s) for s in _grouped(seen, rng)]
    with arguments.out.open("w", encoding="utf-8") as file:
        for number, (split, text, spoken) in enumerate(rows):
            file.write(f"{number}\t{split}\t{text}\t{spoken}\n")
    print(f"{len(rows)} rows of {len(sentences)} sentences", file=sys.stderr)  # noqa: T201


def spoken_words(text: str) -> list[str]:
    """The words that a voice makes tokens of; a dash without blanks divides, too."""
    return re.findall(r"[^\s—]+—?", text)


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
        wanted = len(unseen) < _TEST_SENTENCES + _HELDOUT_SENTENCES
        (unseen if fits and wanted else seen).append(sentence)
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


def _choose(pools: dict[str, list[str]], count: int, rng: random.Random) -> list[str]:
    held = {sentence.lower() for sentence in (*HARVARD, *EVERYDAY)}
    chosen: list[str] = []
    for name, share in _SHARES.items():
        fresh: list[str] = []
        for sentence in pools[name]:
            if len(fresh) >= count * share:
                break
            if sentence.lower() not in held:
                held.add(sentence.lower())
                fresh.append(sentence)
        print(f"{name}: {len(fresh)} of {len(pools[name])}", file=sys.stderr)  # noqa: T201
        chosen += fresh
    rng.shuffle(chosen)
    return chosen


def _pools(root: Path, rng: random.Random) -> dict[str, list[str]]:
    from wordfreq import top_n_list

    words = [
        word
        for word in top_n_list("en", 45_000)
        if re.fullmatch(r"[a-z]+('[a-z]+)?", word) and (len(word) > 2 or word in _SHORT_WORDS)
    ]
    known = frozenset(words)
    examples, definitions = _wordnet(root)
    pools = {
        "examples": _kept(examples, known, 8, 150),
        "definitions": _kept(definitions, known, 12, 130),
        "austen": _kept(_austen(root), known, 10, 200),
        "fortunes": _kept(_fortunes(root), known, 10, 160),
        "templates": sorted({template_sentence(rng) for _ in range(60_000)}),
        "lists": _word_lists(words, rng),
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


def _word_lists(words: Sequence[str], rng: random.Random) -> list[str]:
    """Every one of the common words several times, outside of any sense, so that spelling alone must tell."""
    common, broad = words[:3_000], list(words[:22_000])
    lists: list[str] = []
    for _ in range(6):
        rng.shuffle(broad)
        rest = iter(broad)
        for word in rest:
            chunk = [word, *(w for _, w in zip(range(rng.randint(0, 7)), rest, strict=False))]
            if rng.random() < 0.5:
                chunk = [w for item in chunk for w in (item, rng.choice(common))][:10]
            lists.append(_finished((", " if rng.random() < 0.3 else " ").join(chunk)))
    return lists


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
    main()
