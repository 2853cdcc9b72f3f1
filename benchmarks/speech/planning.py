"""How fast inputs become plans: megabytes per second and peak memory by kind of input; how well sentences are found.

Every kind is read and segmented as a worker does it, in a process of its own. Times are of the CPU, which is all that
planning waits for. The texts are the sentences of the tests, repeated.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from reading.documents.by_format import read_document
from reading.english.front_end import respell_english
from reading.script.dialogue import dialogue_script
from reading.script.entries import ScriptEntry, decode_entries, encode_entries, entries_script
from reading.script.script import Script, plain_script
from reading.script.ssml import parse_ssml
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import segment_script
from reading.spelling.respelling import Lexicon, respelt
from reading.spelling.rules import PronunciationRule
from rhapsode.contract.jobs.input import DocumentFormat, Pauses
from tests.reading.segmenting.test_sentences import FOLDER, HELD_OUT, LANGUAGES, score

MEGABYTE = 1_000_000
NUM_RULES = 5_000

Read = Callable[[bytes], Script]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1, help="size of the text of each input")
    size = parser.parse_args().megabytes * MEGABYTE
    print(f"{'input':<26} {'MB':>6} {'read s':>8} {'plan s':>8} {'MB/s':>7} {'segments':>9} {'peak MiB':>9}")
    for name, _, _ in KINDS:
        print(_in_own_process(name, size), flush=True)
    print("\nlanguage  precision  recall  ends of sentences inside paragraphs, in texts that no rule was made for")
    for language in LANGUAGES:
        reached = score(language, HELD_OUT)
        print(f"{language:<9} {reached.precision:9.3f} {reached.recall:7.3f}  {reached.wanted}")


def _in_own_process(name: str, size: int) -> str:
    """Memory is a high-water mark of a process, so each input has one; a worker's libraries are in it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        return child.submit(_measure, name, size).result()


def _measure(name: str, size: int) -> str:
    _, make, read = next(kind for kind in KINDS if kind[0] == name)
    segment_script(plain_script("The rules for sentences are loaded before the clock starts."), LengthRules(), Pauses())
    data = make(size)
    started_s = _cpu_s()
    script = read(data)
    read_s = _cpu_s() - started_s
    segments = segment_script(script, LengthRules(), Pauses()).segments
    plan_s = _cpu_s() - started_s - read_s
    text_mb = len(script.text.encode()) / MEGABYTE
    used = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    peak_mib = max(resource.getrusage(who).ru_maxrss for who in used) / 1024
    rate = text_mb / (read_s + plan_s)
    return f"{name:<26} {text_mb:6.2f} {read_s:8.2f} {plan_s:8.2f} {rate:7.2f} {len(segments):9,} {peak_mib:9.0f}"


def _cpu_s() -> float:
    """Of this process and of those it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _paragraphs(language: str, size: int) -> list[str]:
    gap = "" if language in ("zh", "ja") else " "
    text = (FOLDER / f"{language}.txt").read_text(encoding="utf-8")
    once = [gap.join(part.splitlines()) for part in text.strip().split("\n\n")]
    return once * (size // sum(len(part.encode()) + 2 for part in once) + 1)


def _text(language: str, size: int) -> bytes:
    return "\n\n".join(_paragraphs(language, size)).encode()


def _escaped(size: int) -> list[str]:
    return [part.replace("&", "&amp;") for part in _paragraphs("en", size)]


def _play(size: int) -> bytes:
    parts = _paragraphs("en", size)
    return "\n".join(f"{'FOX' if number % 2 else 'CROW'}: {part}" for number, part in enumerate(parts)).encode()


def _entries(size: int) -> bytes:
    return encode_entries(ScriptEntry(part, speaker="FOX") for part in _paragraphs("en", size))


def _ssml(size: int) -> bytes:
    return f"<speak>{''.join(f'<p>{part}<break/></p>' for part in _escaped(size))}</speak>".encode()


def _markdown(size: int) -> bytes:
    parts = _paragraphs("en", size)
    return "\n\n".join(
        f"# {number}\n\n{part}" if number % 50 == 0 else part for number, part in enumerate(parts)
    ).encode()


def _html(size: int) -> bytes:
    return f"<html><body>{''.join(f'<p>{part}</p>' for part in _escaped(size))}</body></html>".encode()


def _epub(size: int) -> bytes:
    parts = _escaped(size)
    pages = ["".join(f"<p>{part}</p>" for part in parts[start : start + 100]) for start in range(0, len(parts), 100)]
    items = "".join(f'<item id="p{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(pages)))
    spine = "".join(f'<itemref idref="p{n}"/>' for n in range(len(pages)))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("META-INF/container.xml", '<container><rootfile full-path="b.opf"/></container>')
        book.writestr("b.opf", f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>")
        for number, page in enumerate(pages):
            book.writestr(f"{number}.xhtml", f"<html><body><h1>{number}</h1>{page}</body></html>")
    return archive.getvalue()


def _respelt(data: bytes) -> Script:
    rules = [PronunciationRule(f"word{number}", "spelt") for number in range(NUM_RULES)]
    rules.append(PronunciationRule("fox", "vulpine", case_sensitive=False))
    return respelt(respelt(plain_script(data.decode()), Lexicon(rules)), respell_english)


KINDS: tuple[tuple[str, Callable[[int], bytes], Read], ...] = (
    ("text, English", partial(_text, "en"), lambda data: plain_script(data.decode())),
    ("text, Chinese", partial(_text, "zh"), lambda data: plain_script(data.decode())),
    ("text, 5,001 rules, numbers", partial(_text, "en"), _respelt),
    ("play of two", _play, lambda data: dialogue_script(data.decode(), ["Fox", "Crow"])),
    ("list of entries", _entries, lambda data: entries_script(decode_entries(data))),
    ("SSML", _ssml, lambda data: parse_ssml(data.decode())),
    ("Markdown", _markdown, partial(read_document, document_format=DocumentFormat.MARKDOWN)),
    ("HTML", _html, partial(read_document, document_format=DocumentFormat.HTML)),
    ("EPUB", _epub, partial(read_document, document_format=DocumentFormat.EPUB)),
)


if __name__ == "__main__":
    main()
