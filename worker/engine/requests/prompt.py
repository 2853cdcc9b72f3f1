"""What the talker reads before it speaks, as ids: one layout per kind of conditioning, two text modes.

A layout is pure data. Every row is a text side, a codec side, or the sum of both; `stages.talker_embeddings` turns it
into embeddings. The order of the rows is upstream's:

    [instruction]  role  PAD+think…  [PAD+speaker]  BOS+cpad  then text and start of speech

Text is stripped and encoded apart from the template around it, because BPE would join a leading line end with
the template's own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from worker.engine.errors import CheckpointError, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    CodecFrames,
    Conditioning,
    DesignedVoice,
    InContextPrompt,
    ModelTask,
    SpeechRequest,
    TextMode,
    XVectorPrompt,
)
from worker.engine.model.config import ModelConfig
from worker.engine.requests.text_tokenizer import TextTokenizer

AUTO_LANGUAGE = "auto"
NO_ID = -1

Ids = NDArray[np.int64]

# The checkpoint size that upstream trained without instructions.
_SIZE_WITHOUT_INSTRUCTIONS = "0b6"
_CHINESE = "chinese"


@dataclass(frozen=True, slots=True)
class PlacedFrames:
    """Reference frames (R, Q) whose embedding sums are the codec side of R rows from `start` on."""

    start: int
    codes: CodecFrames


@dataclass(frozen=True, slots=True)
class PlacedSpeaker:
    """A speaker embedding (D,) that is the codec side of one row."""

    row: int
    embedding: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """text_ids, codec_ids: int64 (P,), `NO_ID` where a row has no such side.

    trailing_text_ids: int64 (n,), added to the inputs made of frames 0 to n - 1; PAD afterwards.
    num_text_tokens: length of the target text alone, which the frame budget is derived from; of a text that is not
        whole it says nothing.
    """

    text_ids: Ids
    codec_ids: Ids
    trailing_text_ids: Ids
    num_text_tokens: int
    speaker: PlacedSpeaker | None = None
    reference: PlacedFrames | None = None

    @property
    def num_rows(self) -> int:
        return self.text_ids.shape[0]


class PromptBuilder:
    """Layouts for one checkpoint. Thread-safe: holds no state of any request."""

    def __init__(self, config: ModelConfig, tokenizer: TextTokenizer) -> None:
        self._config = config
        self._tokenizer = tokenizer
        control, encode = config.text_control, tokenizer.encode
        line_end = encode("\n")
        self._role = (control.im_start, *encode("assistant"), *line_end)
        if len(self._role) != 3:
            raise CheckpointError(f"the text tokenizer makes {len(self._role)} tokens of the assistant's role, not 3")
        self._user_start = (control.im_start, *encode("user"), *line_end)
        self._user_end = (control.im_end, *line_end)

    @property
    def languages(self) -> tuple[str, ...]:
        """Without dialects, which come with their speakers."""
        dialects = set(self._config.talker.dialects.values())
        names = self._config.talker.languages
        return tuple(name for name in names if name not in dialects and not name.endswith("_dialect"))

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(self._config.talker.speakers)

    @property
    def accepts_instructions(self) -> bool:
        """A VoiceDesign checkpoint's instruction is the description of its voice."""
        match self._config.task:
            case ModelTask.CUSTOM_VOICE:
                return self._config.model_size != _SIZE_WITHOUT_INSTRUCTIONS
            case ModelTask.VOICE_DESIGN:
                return True
            case ModelTask.BASE:
                return False

    def reference_text_ids(self, ref_text: str) -> tuple[int, ...]:
        """What a recording says, as ids. Raises RequestRejected when it is empty."""
        return tuple(self._encode_spoken(ref_text, "reference text"))

    def build(self, request: SpeechRequest) -> PromptLayout:
        """Raises RequestRejected when the request is not for this checkpoint; the message lists what would be."""
        return self._build(request, (*self._encode_spoken(request.text, "text"), self.end_of_text))

    def build_open(self, request: SpeechRequest, ids: Sequence[int]) -> PromptLayout | None:
        """Of a text whose first ids are known, `end_of_text` the last of them if no more come, spoken frame by frame.

        None while the prompt needs more of it. Raises as `build` does.
        """
        if request.text_mode is not TextMode.PER_FRAME:
            raise RequestRejected("a text that is still being written is spoken in the text mode per_frame")
        is_whole = bool(ids) and ids[-1] == self.end_of_text
        needed = 1 if not isinstance(request.conditioning, InContextPrompt) else self._ids_beside(request.conditioning)
        if not is_whole and len(ids) < needed:
            self._add_head(_Rows(), request)  # refuses what `build` would refuse once there is text
            return None
        return self._build(request, ids)

    @property
    def end_of_text(self) -> int:
        """The id behind the last one of a text."""
        return self._config.text_control.tts_eos

    def open_text(self) -> OpenText:
        return OpenText(self._tokenizer)

    def _build(self, request: SpeechRequest, text: Sequence[int]) -> PromptLayout:
        """text: ids, of a whole text with its end."""
        rows = _Rows()
        self._add_head(rows, request)
        if isinstance(request.conditioning, InContextPrompt):
            return self._finish_in_context(rows, request.conditioning, text, request.text_mode)
        return self._finish_plain(rows, text, request.text_mode)

    def _ids_beside(self, conditioning: InContextPrompt) -> int:
        """Of the target text, how many stand beside the reference's frames."""
        return max(1, len(self._reference_codes(conditioning)) + 1 - len(self._reference_text(conditioning)))

    def _add_head(self, rows: _Rows, request: SpeechRequest) -> None:
        control, conditioning = self._config.text_control, request.conditioning
        rows.add_text(self._instruction(conditioning))
        rows.add_text(self._role)
        speaker_name = self._built_in_speaker(conditioning)
        for codec_id in self._language_rows(request.language, speaker_name):
            rows.add(control.tts_pad, codec_id)
        if speaker_name is not None:
            rows.add(control.tts_pad, self._config.talker.speakers[speaker_name])
        elif isinstance(conditioning, XVectorPrompt | InContextPrompt):
            rows.speaker = PlacedSpeaker(rows.count, self._speaker_embedding(conditioning))
            rows.add(control.tts_pad, NO_ID)
        rows.add(control.tts_bos, self._config.talker.control.pad)

    def _finish_plain(self, rows: _Rows, text: Sequence[int], mode: TextMode) -> PromptLayout:
        control, codec = self._config.text_control, self._config.talker.control
        if mode is TextMode.PER_FRAME:
            rows.add(text[0], codec.bos)
            return rows.layout(len(text) - 1, trailing=text[1:])
        for text_id in text:
            rows.add(text_id, codec.pad)
        rows.add(control.tts_pad, codec.bos)
        return rows.layout(len(text) - 1, trailing=())

    def _finish_in_context(
        self, rows: _Rows, conditioning: InContextPrompt, target: Sequence[int], mode: TextMode
    ) -> PromptLayout:
        control, codec = self._config.text_control, self._config.talker.control
        codes = self._reference_codes(conditioning)
        num_frames = codes.shape[0]
        text = (*self._reference_text(conditioning), *target)
        if mode is TextMode.PER_FRAME:
            beside = text[: num_frames + 1]
            beside = (*beside, *[control.tts_pad] * (num_frames + 1 - len(beside)))
            trailing = text[num_frames + 1 :]
        else:
            for text_id in text:
                rows.add(text_id, codec.pad)
            beside = (control.tts_pad,) * (num_frames + 1)
            trailing = ()
        rows.add(beside[0], codec.bos)
        rows.reference = PlacedFrames(rows.count, codes)
        for text_id in beside[1:]:
            rows.add(text_id, NO_ID)
        return rows.layout(len(target) - 1, trailing)

    def _instruction(self, conditioning: Conditioning) -> Sequence[int]:
        match conditioning:
            case BuiltInSpeaker(instruction=instruction) if instruction.strip():
                if self._config.model_size == _SIZE_WITHOUT_INSTRUCTIONS:
                    raise RequestRejected("this checkpoint was trained without instructions; leave the instruction out")
                return self._instruction_ids(instruction)
            case DesignedVoice(description=description) if description.strip():
                return self._instruction_ids(description)
            case BuiltInSpeaker() | DesignedVoice() | XVectorPrompt() | InContextPrompt():
                return ()

    def _instruction_ids(self, instruction: str) -> Sequence[int]:
        return (*self._user_start, *self._tokenizer.encode(instruction.strip()), *self._user_end)

    def _built_in_speaker(self, conditioning: Conditioning) -> str | None:
        """The speaker's name in the checkpoint's spelling; None when the conditioning is of another kind."""
        match self._config.task, conditioning:
            case ModelTask.CUSTOM_VOICE, BuiltInSpeaker(name=name):
                if name.lower() not in self._config.talker.speakers:
                    raise RequestRejected(f"unknown speaker {name!r}; this checkpoint has {', '.join(self.speakers)}")
                return name.lower()
            case ModelTask.VOICE_DESIGN, DesignedVoice():
                return None
            case ModelTask.BASE, XVectorPrompt() | InContextPrompt():
                return None
            case ModelTask.CUSTOM_VOICE, XVectorPrompt() if self._config.has_speaker_encoder:
                return None
            case ModelTask.CUSTOM_VOICE, _:
                wanted = f"one of its built-in speakers: {', '.join(self.speakers)}"
            case ModelTask.VOICE_DESIGN, _:
                wanted = "a description of the voice"
            case ModelTask.BASE, _:
                wanted = "a recorded voice (speaker embedding, or reference frames with their text)"
        given = type(conditioning).__name__
        raise RequestRejected(f"this {self._config.task} checkpoint speaks with {wanted}; the request gives {given}")

    def _language_rows(self, language: str, speaker: str | None) -> Sequence[int]:
        codec, name = self._config.talker.control, language.lower()
        if name != AUTO_LANGUAGE and name not in self.languages:
            known = ", ".join((AUTO_LANGUAGE, *self.languages))
            raise RequestRejected(f"unknown language {language!r}; this checkpoint has {known}")
        dialect = self._config.talker.dialects.get(speaker) if speaker is not None else None
        if dialect is not None and name in (_CHINESE, AUTO_LANGUAGE):
            name = dialect
        if name == AUTO_LANGUAGE:
            return (codec.nothink, codec.think_bos, codec.think_eos)
        return (codec.think, codec.think_bos, self._config.talker.languages[name], codec.think_eos)

    def _encode_spoken(self, text: str, what: str) -> Sequence[int]:
        ids = self._tokenizer.encode(text.strip())
        if not ids:
            raise RequestRejected(f"the {what} is empty")
        return ids

    def _speaker_embedding(self, conditioning: XVectorPrompt | InContextPrompt) -> NDArray[np.float32]:
        embedding, width = conditioning.speaker_embedding, self._config.talker.transformer.hidden_size
        if embedding.shape != (width,):
            raise RequestRejected(
                f"the speaker embedding has shape {embedding.shape}, this checkpoint needs ({width},)"
            )
        if not np.isfinite(embedding).all():
            raise RequestRejected("the speaker embedding is not finite")
        return embedding

    def _reference_text(self, conditioning: InContextPrompt) -> Sequence[int]:
        ids = conditioning.ref_text_ids
        if not ids:
            return self._encode_spoken(conditioning.ref_text, "reference text")
        size = self._config.talker.text_vocab_size
        if not 0 <= min(ids) <= max(ids) < size:
            raise RequestRejected(f"the reference text has ids outside 0 to {size - 1}")
        return ids

    def _reference_codes(self, conditioning: InContextPrompt) -> CodecFrames:
        codes, num_codebooks = conditioning.ref_code, self._config.talker.num_codebooks
        if codes.ndim != 2 or codes.shape[0] < 1 or codes.shape[1] != num_codebooks:
            raise RequestRejected(f"the reference frames have shape {codes.shape}, not (T, {num_codebooks}) with T > 0")
        codebook_size = self._config.predictor.codebook_size
        if codes.min() < 0 or codes.max() >= codebook_size:
            raise RequestRejected(f"the reference frames hold codes outside 0 to {codebook_size - 1}")
        return codes


@dataclass(slots=True)
class _Rows:
    """A layout being written, owned by one `PromptBuilder.build`."""

    text_ids: list[int] = field(default_factory=list)
    codec_ids: list[int] = field(default_factory=list)
    speaker: PlacedSpeaker | None = None
    reference: PlacedFrames | None = None

    @property
    def count(self) -> int:
        return len(self.text_ids)

    def add(self, text_id: int, codec_id: int) -> None:
        self.text_ids.append(text_id)
        self.codec_ids.append(codec_id)

    def add_text(self, text_ids: Sequence[int]) -> None:
        for text_id in text_ids:
            self.add(text_id, NO_ID)

    def layout(self, num_text_tokens: int, trailing: Sequence[int]) -> PromptLayout:
        return PromptLayout(
            text_ids=np.array(self.text_ids, dtype=np.int64),
            codec_ids=np.array(self.codec_ids, dtype=np.int64),
            trailing_text_ids=np.array(trailing, dtype=np.int64),
            num_text_tokens=num_text_tokens,
            speaker=self.speaker,
            reference=self.reference,
        )


_LINE_ENDS = ("\r", "\n")


class OpenText:
    """The text of one request as it is written, without the blanks at its ends. Belongs to one thread at a time.

    An id is given out once nothing that may follow can change it. The encoder divides a text into words and encodes
    each by itself, so ids are final up to the last word, which may grow. After a blank, all are final.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._unsettled = ""
        self._is_begun = False

    def push(self, piece: str, *, is_last: bool) -> tuple[int, ...]:
        """The ids that are settled now and were not before. Raises RequestRejected when it is not Unicode text."""
        text = unicodedata.normalize("NFC", self._unsettled + piece)
        if not self._is_begun:
            text = text.lstrip()
            self._is_begun = bool(text)
        if is_last:
            self._unsettled = ""
            return self._tokenizer.encode(text.rstrip())
        settled = self._settled(text)
        self._unsettled = text[settled:]
        return self._tokenizer.encode(text[:settled])

    def _settled(self, text: str) -> int:
        """How many characters nothing that follows can change."""
        words_end = len(text.rstrip())
        blank = text[words_end : words_end + 1]
        if blank and blank not in _LINE_ENDS:
            return words_end
        # A line end belongs to the punctuation before it, and blanks between two of them to both.
        starts = self._tokenizer.word_starts(text[:words_end])
        while starts and unicodedata.combining(text[starts[-1]]):
            starts.pop()
        return starts[-1] if starts else 0
