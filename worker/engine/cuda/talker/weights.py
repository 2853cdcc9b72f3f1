"""A checkpoint as the tensors that frames and prompts are computed with, on one device in one dtype."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from worker.engine.cuda.slot_state import FrameTables
from worker.engine.cuda.talker.decode.weights import TalkerTransformerWeights
from worker.engine.cuda.talker.frame_step import PredictorWeights, TalkerWeights
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import ModelConfig
from worker.engine.model.speech_modules import load_modules
from worker.engine.model.talker import Talker

# Rows of the head are a whole number of these, so that products with it have aligned rows.
_HEAD_STEP = 64
# Rows of the text table that are projected at a time: 64 MB of intermediate values.
_TEXT_ROWS = 8192


@dataclass(frozen=True, slots=True)
class SpeechWeights:
    """codec_table: embeddings of the whole codec vocabulary, control ids included, (vocabulary, hidden)."""

    talker: TalkerWeights
    predictor: PredictorWeights
    tables: FrameTables
    codec_table: Tensor

    @property
    def dtype(self) -> torch.dtype:
        return self.codec_table.dtype

    @property
    def device(self) -> torch.device:
        return self.codec_table.device

    @property
    def num_codebooks(self) -> int:
        return self.predictor.heads.shape[0] + 1

    @property
    def codebook_size(self) -> int:
        return self.predictor.heads.shape[1]

    @classmethod
    @torch.inference_mode()
    def load(
        cls, path: Path, config: ModelConfig, num_positions: int, dtype: torch.dtype, device: torch.device
    ) -> SpeechWeights:
        """From the main `model.safetensors`; num_positions: of one slot. Raises CheckpointError as `load_modules`."""
        return cls.of(config, *load_modules(path, config, dtype, device), num_positions)

    @classmethod
    @torch.inference_mode()
    def of(cls, config: ModelConfig, talker: Talker, predictor: CodePredictor, num_positions: int) -> SpeechWeights:
        """The modules' own tensors."""
        codec_table = talker.model.codec_embedding.weight.detach()
        first, residual = codec_table[: config.predictor.codebook_size], predictor.residual_embeddings.detach()
        return cls(
            talker=TalkerWeights(
                TalkerTransformerWeights.of(talker.model, config.talker.transformer, num_positions),
                _head(talker, config),
            ),
            predictor=_predictor_weights(predictor, first, config),
            tables=FrameTables(first, residual, _text_table(talker)),
            codec_table=codec_table,
        )

    @torch.inference_mode()
    def with_float8_mlps(self) -> SpeechWeights:
        """The talker's MLPs have eight bits as well; the predictor's products are too narrow to gain by them."""
        return replace(self, talker=replace(self.talker, transformer=self.talker.transformer.with_float8_mlps()))


def _head(talker: Talker, config: ModelConfig) -> Tensor:
    """Upstream suppresses the control ids; leaving their rows out of the head gives the same draw."""
    published, codebook_size = talker.codec_head.weight.detach(), config.predictor.codebook_size
    num_lanes = codebook_size + 1
    head = published.new_zeros(-(-num_lanes // _HEAD_STEP) * _HEAD_STEP, published.shape[1])
    head[:codebook_size] = published[:codebook_size]
    head[codebook_size] = published[config.talker.control.eos]
    return head


def _predictor_weights(predictor: CodePredictor, first: Tensor, config: ModelConfig) -> PredictorWeights:
    """An input is the projection of a table's row, so the tables are projected once instead of every frame."""
    projection = predictor.small_to_mtp_projection
    return PredictorWeights(
        transformer=TalkerTransformerWeights.of(
            predictor.model, config.predictor.transformer, config.predictor.num_codebooks
        ),
        inputs=torch.stack([predictor.project(table) for table in (first, *predictor.residual_embeddings[:-1])]),
        heads=predictor.heads.weight.detach(),
        projection=(
            (projection.weight.detach(), projection.bias.detach()) if isinstance(projection, nn.Linear) else None
        ),
    )


def _text_table(talker: Talker) -> Tensor:
    """What `Talker.text_rows` makes of every id, so that no prompt needs the product.

    It overwrites the talker's embeddings where its rows are as wide: a second copy, 594 MiB, does not fit in 8 GiB.
    """
    embedded = talker.model.text_embedding.weight.detach()
    width = talker.text_projection.linear_fc2.out_features
    table = embedded if width == embedded.shape[1] else embedded.new_empty(len(embedded), width)
    for filled, rows in zip(table.split(_TEXT_ROWS), embedded.split(_TEXT_ROWS), strict=True):
        filled.copy_(talker.text_projection(rows))
    return table
