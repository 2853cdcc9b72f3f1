"""The checkpoint's configuration files as typed values.

There are no defaults: upstream's class defaults describe another model, so a field that is absent is an error.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from worker.engine.errors import CheckpointError
from worker.engine.interface import ModelTask, SamplingParams, SegmentStyle, TextFrontEnd, TokenSampling
from worker.engine.model.pulled import FAMILY

UNLIMITED_TEXT_CHARS = 1_000
"""Of a checkpoint that names no bound, as the published ones, which were trained on minutes: longer than any segment
that a job may ask for."""

_LEAST_TEXT_CHARS = 20

_Choice = TypeVar("_Choice", bound=enum.StrEnum)
_Value = TypeVar("_Value")

# The talker's vocabulary is one codebook and this many control and speaker rows above it.
_CONTROL_ROWS = 1024


class ConfigFields:
    """One JSON object of a configuration file, read field by field.

    Every reader raises CheckpointError naming the file and the dotted field when it is missing or wrongly typed.
    """

    def __init__(self, data: Mapping[str, object], source: str, path: str = "") -> None:
        self._data = data
        self._source = source
        self._path = path

    def integer(self, name: str) -> int:
        return self._typed(name, int, "an integer")

    def number(self, name: str) -> float:
        is_whole = type(self._field(name)) is int
        return float(self._typed(name, int if is_whole else float, "a number"))

    def text(self, name: str) -> str:
        return self._typed(name, str, "a string")

    def boolean(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def integers(self, name: str) -> tuple[int, ...]:
        items = cast("list[object]", self._typed(name, list, "a list of integers"))
        numbers = tuple(item for item in items if type(item) is int)
        if len(numbers) != len(items):
            raise self._wrong_type(name, "a list of integers")
        return numbers

    def mapping(self, name: str) -> Mapping[str, object]:
        """A JSON object whose keys are data (speakers, languages), not fields."""
        return cast("dict[str, object]", self._typed(name, dict, "an object"))

    def require(self, **expected: str | int) -> None:
        """These values and no others."""
        for name, value in expected.items():
            found = self._field(name)
            if type(found) is not type(value) or found != value:
                raise self.wrong(name, f"is {found!r}, should be {value!r}")

    def section(self, name: str) -> ConfigFields:
        return ConfigFields(self.mapping(name), self._source, f"{self._path}{name}.")

    def has(self, name: str) -> bool:
        """For sections that only some kinds of checkpoint carry."""
        return name in self._data

    def names(self) -> tuple[str, ...]:
        return tuple(self._data)

    def wrong(self, name: str, complaint: str) -> CheckpointError:
        """The error for a field that is there and well typed, and still cannot be."""
        return CheckpointError(f"{self._source}: {self._path}{name} {complaint}")

    def _field(self, name: str) -> object:
        if name not in self._data:
            raise self.wrong(name, "is missing")
        return self._data[name]

    def _typed(self, name: str, kind: type[_Value], expected: str) -> _Value:
        value = self._field(name)
        # A bool is an int as well, and none here.
        if type(value) is not kind:
            raise self._wrong_type(name, expected)
        return value

    def _wrong_type(self, name: str, expected: str) -> CheckpointError:
        return self.wrong(name, f"should be {expected}, is {self._data[name]!r}")


def read_config(path: Path) -> ConfigFields:
    """The top-level object of a JSON file. Raises CheckpointError with the path when there is none."""
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot read the configuration in {path}: {error}") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} does not hold a JSON object")
    return ConfigFields(cast("dict[str, object]", data), str(path))


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """Dimensions of one stack of Qwen3 transformer layers."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float


@dataclass(frozen=True, slots=True)
class CodecControlIds:
    """Rows of the talker's codec vocabulary that are no sound."""

    pad: int
    bos: int
    eos: int
    think: int
    nothink: int
    think_bos: int
    think_eos: int


@dataclass(frozen=True, slots=True)
class TextControlIds:
    """Rows of the text vocabulary that frame a prompt; text cannot produce them."""

    im_start: int
    im_end: int
    tts_pad: int
    tts_bos: int
    tts_eos: int


@dataclass(frozen=True, slots=True)
class TalkerConfig:
    """languages, speakers: name -> codec id; dialects: speaker -> the language name of the dialect it speaks."""

    transformer: TransformerConfig
    vocab_size: int
    text_vocab_size: int
    text_hidden_size: int
    num_codebooks: int
    max_positions: int
    control: CodecControlIds
    languages: Mapping[str, int]
    speakers: Mapping[str, int]
    dialects: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CodePredictorConfig:
    """talker_hidden_size: width of the embedding tables, which are the talker's inputs too."""

    transformer: TransformerConfig
    codebook_size: int
    num_codebooks: int
    talker_hidden_size: int


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """has_speaker_encoder: it can clone from sound; a checkpoint with built-in speakers may offer that too."""

    task: ModelTask
    has_speaker_encoder: bool
    model_size: str
    text_control: TextControlIds
    talker: TalkerConfig
    predictor: CodePredictorConfig


def read_model_config(path: Path) -> ModelConfig:
    """The main `config.json`. Raises CheckpointError naming the field that is missing, wrong or contradictory."""
    fields = read_config(path)
    fields.require(model_type=FAMILY)
    talker_fields = fields.section("talker_config")
    talker = _talker(talker_fields)
    predictor = _code_predictor(talker_fields.section("code_predictor_config"), talker)
    task = _choice(fields, "tts_model_type", ModelTask)
    return ModelConfig(
        task=task,
        has_speaker_encoder=task is ModelTask.BASE or fields.has("speaker_encoder_config"),
        model_size=fields.text("tts_model_size"),
        text_control=_text_control(fields, talker.text_vocab_size),
        talker=talker,
        predictor=predictor,
    )


def read_max_text_chars(path: Path) -> int:
    """`max_text_chars` of the checkpoint's `generation_config.json`: the longest text that it was made for.

    Our own field, beside the published `max_new_tokens`; loaders that do not know it pass it over.
    """
    fields = read_config(path)
    if not fields.has("max_text_chars"):
        return UNLIMITED_TEXT_CHARS
    chars = fields.integer("max_text_chars")
    if chars < _LEAST_TEXT_CHARS:
        raise fields.wrong("max_text_chars", f"({chars}) should be at least {_LEAST_TEXT_CHARS}")
    return chars


def read_text_front_end(path: Path) -> TextFrontEnd:
    """`text_front_end` of the checkpoint's `generation_config.json`, our own field too; published ones read digits."""
    return _choice(read_config(path), "text_front_end", TextFrontEnd, TextFrontEnd.RAW)


def read_segmentation(path: Path) -> SegmentStyle:
    """`segmentation` of the checkpoint's `generation_config.json`, our own field too; published ones get paragraphs."""
    return _choice(read_config(path), "segmentation", SegmentStyle, SegmentStyle.PACKED)


def _choice(fields: ConfigFields, name: str, known: type[_Choice], usual: _Choice | None = None) -> _Choice:
    """usual: where the file does not have the field; None: it must have it."""
    if usual is not None and not fields.has(name):
        return usual
    named = fields.text(name)
    if named not in tuple(known):
        raise fields.wrong(name, f"should be one of {', '.join(known)}, is {named!r}")
    return known(named)


def read_default_sampling(path: Path) -> SamplingParams:
    """The checkpoint's `generation_config.json`; `do_sample: false` means temperature 0."""
    fields = read_config(path)
    return SamplingParams(
        talker=TokenSampling(
            temperature=fields.number("temperature") if fields.boolean("do_sample") else 0.0,
            top_k=fields.integer("top_k"),
            top_p=fields.number("top_p"),
        ),
        predictor=TokenSampling(
            temperature=fields.number("subtalker_temperature") if fields.boolean("subtalker_dosample") else 0.0,
            top_k=fields.integer("subtalker_top_k"),
            top_p=fields.number("subtalker_top_p"),
        ),
        repetition_penalty=fields.number("repetition_penalty"),
    )


def _transformer(fields: ConfigFields) -> TransformerConfig:
    fields.require(hidden_act="silu", attention_bias=False)
    num_heads, num_kv_heads = fields.integer("num_attention_heads"), fields.integer("num_key_value_heads")
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise fields.wrong("num_attention_heads", f"({num_heads}) should be a multiple of {num_kv_heads} KV heads")
    head_dim = fields.integer("head_dim")
    if head_dim % 2:
        raise fields.wrong("head_dim", f"({head_dim}) should be even")
    return TransformerConfig(
        hidden_size=fields.integer("hidden_size"),
        intermediate_size=fields.integer("intermediate_size"),
        num_layers=fields.integer("num_hidden_layers"),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        rms_norm_eps=fields.number("rms_norm_eps"),
        rope_theta=fields.number("rope_theta"),
    )


def _talker(fields: ConfigFields) -> TalkerConfig:
    # The three rows of the multi-axis RoPE are always equal here, which makes it ordinary RoPE; any other
    # scaling would not be.
    fields.section("rope_scaling").require(rope_type="default")
    vocab_size = fields.integer("vocab_size")
    languages = _ids(fields, "codec_language_id", vocab_size)
    return TalkerConfig(
        transformer=_transformer(fields),
        vocab_size=vocab_size,
        text_vocab_size=fields.integer("text_vocab_size"),
        text_hidden_size=fields.integer("text_hidden_size"),
        num_codebooks=fields.integer("num_code_groups"),
        max_positions=fields.integer("max_position_embeddings"),
        control=_codec_control(fields, vocab_size),
        languages=languages,
        speakers=_ids(fields, "spk_id", vocab_size),
        dialects=_dialects(fields, languages),
    )


def _code_predictor(fields: ConfigFields, talker: TalkerConfig) -> CodePredictorConfig:
    codebook_size = fields.integer("vocab_size")
    if codebook_size + _CONTROL_ROWS != talker.vocab_size:
        raise fields.wrong(
            "vocab_size", f"({codebook_size}) should be {_CONTROL_ROWS} less than the talker's ({talker.vocab_size})"
        )
    num_codebooks = fields.integer("num_code_groups")
    if num_codebooks != talker.num_codebooks or num_codebooks < 2:
        raise fields.wrong(
            "num_code_groups", f"({num_codebooks}) should be the talker's ({talker.num_codebooks}) and at least 2"
        )
    return CodePredictorConfig(
        transformer=_transformer(fields),
        codebook_size=codebook_size,
        num_codebooks=num_codebooks,
        talker_hidden_size=talker.transformer.hidden_size,
    )


def _codec_control(fields: ConfigFields, vocab_size: int) -> CodecControlIds:
    return CodecControlIds(
        pad=_id(fields, "codec_pad_id", vocab_size),
        bos=_id(fields, "codec_bos_id", vocab_size),
        eos=_id(fields, "codec_eos_token_id", vocab_size),
        think=_id(fields, "codec_think_id", vocab_size),
        nothink=_id(fields, "codec_nothink_id", vocab_size),
        think_bos=_id(fields, "codec_think_bos_id", vocab_size),
        think_eos=_id(fields, "codec_think_eos_id", vocab_size),
    )


def _text_control(fields: ConfigFields, text_vocab_size: int) -> TextControlIds:
    return TextControlIds(
        im_start=_id(fields, "im_start_token_id", text_vocab_size),
        im_end=_id(fields, "im_end_token_id", text_vocab_size),
        tts_pad=_id(fields, "tts_pad_token_id", text_vocab_size),
        tts_bos=_id(fields, "tts_bos_token_id", text_vocab_size),
        tts_eos=_id(fields, "tts_eos_token_id", text_vocab_size),
    )


def _id(fields: ConfigFields, name: str, vocab_size: int) -> int:
    value = fields.integer(name)
    if not 0 <= value < vocab_size:
        raise fields.wrong(name, f"({value}) is outside the vocabulary of {vocab_size}")
    return value


def _ids(fields: ConfigFields, name: str, vocab_size: int) -> dict[str, int]:
    section = fields.section(name)
    return {key: _id(section, key, vocab_size) for key in section.names()}


def _dialects(fields: ConfigFields, languages: Mapping[str, int]) -> dict[str, str]:
    """The file says `false` for a speaker without a dialect."""
    section = fields.section("spk_is_dialect")
    dialects = {
        name: section.text(name) for name, value in fields.mapping("spk_is_dialect").items() if value is not False
    }
    for speaker, dialect in dialects.items():
        if dialect not in languages:
            raise section.wrong(speaker, f"names {dialect!r}, which codec_language_id does not have")
    return dialects
