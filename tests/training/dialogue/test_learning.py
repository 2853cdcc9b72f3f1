"""The chain that is learnt is the one that attributes: a marked story in the form of the corpus."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from benchmarks.speech.speakers import Novel
from reading.dialogue.attribution import CALIBRATION, WEIGHTS, paragraphs, propose_speakers
from reading.dialogue.chain import probabilities
from reading.dialogue.people import People
from reading.dialogue.quotations import quotations
from reading.dialogue.speakers import scenes
from reading.dialogue.turns import read_turns
from reading.script.script import plain_script
from training.dialogue.chain import batches, marginals, number_of
from training.dialogue.learn import calibration, judged, learn, written
from training.dialogue.novels import Marked, read_marked

PART = """"Where is the key?" said Mr. Harding.

"Under the mat," said Eleanor.

"It was there yesterday," he said. He looked again.

"Then ask Johnny," she said.

Johnny came in. "I have it."

"Thank you."
"""
NUM_PARTS = 24
SPEAKERS = ("Mr. Harding", "Eleanor", "Mr. Harding", "Eleanor", "Johnny", "Mr. Harding")


def marked(tmp_path: Path, text: str) -> Marked:
    (tmp_path / "novel_text.txt").write_text(text)
    quoted = quotations(text, paragraphs(plain_script(text)))
    with (tmp_path / "character_info.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["Main Name", "Aliases"])
        rows.writerows([name, str({name})] for name in sorted(set(SPEAKERS)))
    with (tmp_path / "quotation_info.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["quoteByteSpans", "speaker", "quoteType"])
        rows.writerows(
            [str([[each.start, each.end]]), SPEAKERS[at % len(SPEAKERS)], "Implicit"] for at, each in enumerate(quoted)
        )
    return read_marked(tmp_path)


def test_marginals_are_the_probabilities_of_the_attribution(tmp_path: Path) -> None:
    text = "\n".join([PART] * 4)
    story = marked(tmp_path, text)
    parts = paragraphs(plain_script(text))
    quoted = quotations(text, parts)
    people = People(text, quoted)
    (scene,) = scenes(read_turns(text, parts, quoted, people), people)
    numbers = number_of(story.scenes, least=1)
    weights = torch.tensor([WEIGHTS.get(name, 0.0) for name in numbers], dtype=torch.float64)

    ((_, batch),) = batches(story.scenes, numbers)
    found = marginals(batch, weights)[0]

    for expected, got in zip(probabilities(scene, WEIGHTS), found, strict=False):
        assert got[: len(expected)].tolist() == pytest.approx(expected, abs=1e-6)


def test_what_is_marked_is_learnt_and_written(tmp_path: Path) -> None:
    story = marked(tmp_path, "\n".join([PART] * NUM_PARTS))
    numbers, weights = learn([story])

    lines = list(judged(story, numbers, weights))
    assert len(lines) == NUM_PARTS * len(SPEAKERS)
    assert sum(right for _, _, right, _, _ in lines) == len(lines)

    learnt = json.loads(written(numbers, weights, [(0.0, 0.1), (1.0, 0.9)]))
    assert learnt["calibration"] == [[0.0, 0.1], [1.0, 0.9]]
    assert learnt["weights"]
    assert learnt["weights"].keys() <= numbers.keys()


def test_a_probability_is_worth_what_was_right() -> None:
    lines = [("a novel", 0.2, at % 5 == 0, "", True) for at in range(100)]
    lines += [("a novel", 0.99, at % 10 != 0, "", True) for at in range(100)]

    curve = dict(calibration(lines))

    assert (curve[0.0], curve[1.0]) == (0.2, 0.9)
    assert [*curve.values()] == sorted(curve.values())


def test_the_curve_of_the_weights_rises() -> None:
    rights = [right for _, right in CALIBRATION]

    assert rights == sorted(rights)
    assert 0 <= rights[0] < rights[-1] <= 1


def test_narration_is_counted_apart_from_letters_in_quotation_marks(tmp_path: Path) -> None:
    text = PART + '\nA letter came. "I have sent the key to you by the morning post."\n\nHe read it.\n'
    marked(tmp_path, PART)
    (tmp_path / "novel_text.txt").write_text(text)
    novel = Novel(tmp_path)

    found = novel.narrated(propose_speakers(plain_script(text)))

    assert found[False, True] == 0
    assert found[False, False] == 9  # `Mr.` ends one, too
    assert found[True, True] == 1
