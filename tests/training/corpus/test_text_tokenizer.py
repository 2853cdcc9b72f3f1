"""The tokenizer of the small voice, made anew from a few sentences."""

from __future__ import annotations

from pathlib import Path

from training.corpus import text_tokenizer
from training.corpus.rows import Row, write_rows
from training.corpus.sentences import HARVARD
from training.dimensions import TALKER
from worker.engine.model.config import read_model_config
from worker.engine.requests.text_tokenizer import TextTokenizer

SMALL_VOICE = Path(__file__).parents[3] / "worker" / "small_voice"


def test_it_is_the_tokenizer_that_the_engine_reads_and_spells_alike(tmp_path: Path) -> None:
    write_rows(tmp_path / "corpus.tsv", [Row(n, "train", text, text) for n, text in enumerate(HARVARD)])
    out = tmp_path / "tokenizer"

    text_tokenizer.main(["--corpus", str(tmp_path / "corpus.tsv"), "--out", str(out)])

    encoder, specials = text_tokenizer.load_encoder(out), text_tokenizer.special_ids(out)
    assert all(len(encoder.encode(word).ids) == 1 for word in ("assistant", "user", "system"))
    assert max(specials.values()) < TALKER.text_vocab_size
    assert encoder.decode(encoder.encode("Smoky fires lack flame.").ids) != ""


def test_the_small_voice_is_spelled_as_the_engine_spells_it() -> None:
    config = read_model_config(SMALL_VOICE / "config.json")
    engine, recipe = TextTokenizer.load(SMALL_VOICE, config.text_control), text_tokenizer.load_encoder(SMALL_VOICE)

    for text in (*HARVARD, "Twenty-one “quoted” words — and a naïve café."):
        assert list(engine.encode(text)) == recipe.encode(text).ids
