"""From a checkpoint and a text to heads beside it, and an engine that uses them without a changed code."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from worker.engine.distil import distil_draft
from worker.engine.distil.distil_draft import SpokenStates, say_all
from worker.engine.errors import RequestCancelled
from worker.engine.interface import BuiltInSpeaker, CodecFrames, Engine, SamplingParams, SpeechRequest, TokenSampling
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.draft_heads import DRAFTS_FILE, DRAFTS_FOLDER, HeadWeights, read_heads, write_heads

SMALL_VOICE = Path(__file__).resolve().parents[4] / "worker/small_voice"
TEXTS = ("Yes.", "No, thank you.", "Who is there?", "Come in.", "It is late.")
HEADS = (11, 512, 256)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small voice, without heads."""
    copy = tmp_path_factory.mktemp("checkpoints") / "small_voice"
    shutil.copytree(SMALL_VOICE, copy, ignore=shutil.ignore_patterns(DRAFTS_FOLDER, "samples"))
    return copy


@pytest.fixture
def no_heads(checkpoint: Path) -> Iterator[Path]:
    (checkpoint / DRAFTS_FILE).parent.mkdir(exist_ok=True)
    yield checkpoint
    (checkpoint / DRAFTS_FILE).unlink(missing_ok=True)


def engine_of(checkpoint: Path) -> NativeEngine:
    return NativeEngine(NativeEngineSettings(checkpoint, slots=4, live_slots=0, num_threads=1))


def request_of(number: int, sampling: SamplingParams) -> SpeechRequest:
    return SpeechRequest(
        f"{number}", TEXTS[number % len(TEXTS)], BuiltInSpeaker("slt"), sampling=sampling, seed=number, max_frames=30
    )


def spoken(engine: Engine, samplings: Sequence[SamplingParams]) -> list[CodecFrames]:
    """Each alone, then all together, then one that goes on alone when its company was cancelled."""
    requests = [request_of(number, sampling) for number, sampling in enumerate(samplings)]
    frames = [engine.submit(one).result().frames for one in requests]
    frames += [future.result().frames for future in [engine.submit(one) for one in requests]]
    stays, leaves = (engine.submit(request_of(number, samplings[0])) for number in (7, 8))
    engine.cancel("8")
    with pytest.raises(RequestCancelled):
        leaves.result()
    return [*frames, stays.result().frames]


def samplings() -> tuple[SamplingParams, ...]:
    drawn = TokenSampling(temperature=0.9, top_k=20, top_p=1.0)
    nucleus = TokenSampling(temperature=1.2, top_k=0, top_p=0.8)
    greedy = TokenSampling(temperature=0.0, top_k=0, top_p=1.0)
    return tuple(SamplingParams(talker=one, predictor=one) for one in (greedy, drawn, nucleus))


def random_heads(rank: int) -> HeadWeights:
    random, (num_heads, num_lanes, width) = torch.Generator().manual_seed(rank), HEADS
    return HeadWeights(
        torch.randn(num_heads, rank, width, generator=random),
        torch.randn(num_heads, num_lanes, rank, generator=random),
        torch.randn(num_heads, num_lanes, rank, generator=random),
    )


def test_heads_are_trained_written_and_change_no_code(
    no_heads: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_of(no_heads)
    plain = spoken(engine, samplings())
    engine.close()
    text = tmp_path / "text.txt"
    text.write_text("\n".join([*TEXTS * 4, ""]), encoding="utf-8")

    with caplog.at_level("INFO"):
        distil_draft.main(
            ["--checkpoint", str(no_heads), "--text", str(text), "--rank", "8", "--epochs", "1", "--slots", "8"]
        )
        engine = engine_of(no_heads)

    drafted = spoken(engine, samplings())
    engine.close()
    assert "said 20 of 20 sentences" in caplog.messages
    assert sum(message.startswith("codebook ") for message in caplog.messages) == HEADS[0]
    assert "drafts are on for a row alone" in caplog.messages
    assert all(np.array_equal(one, other) for one, other in zip(plain, drafted, strict=True))


def test_the_states_of_spoken_frames_are_those_that_its_codes_were_taken_from(no_heads: Path) -> None:
    engine = engine_of(no_heads)
    told: list[int] = []
    said = say_all(engine, TEXTS, engine.info.default_sampling, told.append)
    engine.close()

    states = SpokenStates(no_heads)
    found = states.of(said)

    assert told == [1, 2, 3, 4, 5]
    assert len(found.codes) == sum(len(one.frames) for one in said)
    likeliest = torch.stack(
        [
            F.linear(found.states[:, position].float(), head).argmax(-1)
            for position, head in enumerate(states.predictor.heads.weight.detach(), start=1)
        ],
        dim=1,
    )
    # The small voice takes the likeliest code; passes over many frames round in other ways, and states are halved.
    assert (likeliest == found.codes[:, 1:]).float().mean() > 0.99


@pytest.mark.parametrize("kind", ["absent", "of other weights", "of other sizes", "not finite", "no safetensors"])
def test_heads_that_are_not_the_checkpoints_are_off_and_the_log_says_so(
    kind: str, no_heads: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = no_heads / DRAFTS_FILE
    match kind:
        case "absent":
            pass
        case "of other weights":
            (tmp_path / "model.safetensors").write_bytes(b"others")
            shutil.move(write_heads(random_heads(4), tmp_path), path)
        case "of other sizes":
            heads = random_heads(4)
            write_heads(HeadWeights(heads.state[:-1], heads.code, heads.logits), no_heads)
        case "not finite":
            heads = random_heads(4)
            heads.code[3, 7, 1] = torch.nan
            write_heads(heads, no_heads)
        case _:
            path.write_bytes(b"nothing of the kind")

    with caplog.at_level("INFO"):
        assert read_heads(no_heads, *HEADS) is None

    assert sum(message.startswith("drafts are off") for message in caplog.messages) == 1


def test_heads_are_off_on_several_threads_where_passes_round_otherwise(
    no_heads: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_heads(random_heads(4), no_heads)
    try:
        with caplog.at_level("INFO"):
            NativeEngine(NativeEngineSettings(no_heads, slots=1, live_slots=0, num_threads=2)).close()
    finally:
        torch.set_num_threads(1)

    assert [message for message in caplog.messages if message.startswith("drafts are")] == [
        "drafts are off: they are for a CPU with one thread for the talker"
    ]


def test_heads_come_back_as_they_were_written(no_heads: Path) -> None:
    heads = random_heads(4)
    write_heads(heads, no_heads)

    found = read_heads(no_heads, *HEADS)

    assert found is not None
    assert torch.equal(found.state, heads.state.half().float())
    assert torch.equal(found.code, heads.code.half().float())
    assert torch.equal(found.logits, heads.logits.half().float())


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "there is no text"), (b"One.\n" * 3, "has 3 sentences"), (b"\xff\xd0\n" * 30, "is not UTF-8")],
    ids=["absent", "short", "binary"],
)
def test_what_cannot_be_trained_on_is_said_in_one_line(
    content: bytes | None, complaint: str, no_heads: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)

    with pytest.raises(SystemExit, match=f"^distil-draft: .*{complaint}"):
        distil_draft.main(["--checkpoint", str(no_heads), "--text", str(text)])
