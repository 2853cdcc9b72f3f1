"""Options of `rhapsode narrate`, in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import AddressOptions
from rhapsode.cli.cover_file import CoverOption
from rhapsode.cli.failures import Misuse
from rhapsode.cli.job_fields import JobField, given_fields
from rhapsode.cli.narrate.audio_options import LEVELLED, ChapterFilesOption, LoudnessOption, SubtitlesOption, formats
from rhapsode.cli.narrate.reading_options import (
    CastOption,
    DescribeImagesOption,
    EncodingOption,
    IncludeOption,
    SpeakerOption,
    StrictSsmlOption,
    WordsOption,
    normalization,
)
from rhapsode.cli.options import CheckpointOption, DeviceOption, ForceOption, SlotsOption, number_or_none

if TYPE_CHECKING:
    from rhapsode.cli.narrate.targets import Targets
    from rhapsode.client.request_options import JobOptions, JobWebhookFields, LoudnessFields, OutputFields

ENDPOINT_PREFIX = "whe_"


@dataclass(frozen=True, slots=True)
class NarrateSpeechOptions:
    """Voice and text."""

    voice: job_options.Voice = None
    speaker: Annotated[SpeakerOption, JobField("speakers", is_by_hand=True)] = None
    cast: CastOption = None
    instructions: job_options.Instructions = None
    language: job_options.Language = None
    dictionary: job_options.PronunciationDictionaries = None
    words: WordsOption = None
    emoji: job_options.Emoji = None
    describe_images: DescribeImagesOption = False
    include: IncludeOption = None
    encoding: EncodingOption = None
    strict_ssml: StrictSsmlOption = False
    pause_sentence: job_options.PausesSentenceS = None
    pause_paragraph: job_options.PausesParagraphS = None
    pause_heading: job_options.PausesHeadingS = None
    pause_chapter: job_options.PausesChapterS = None
    pause_line: job_options.PausesLineS = None
    pause_cut: job_options.PausesCutS = None
    pause_inside: job_options.PausesInside = None
    model: job_options.Model = None

    def wishes(self, speakers: dict[str, str]) -> JobOptions:
        """Fields of the request. speakers: the voices by name."""
        return {**given_fields(self), "speakers": speakers or None, "normalization": normalization(self.words)}


@dataclass(frozen=True, slots=True)
class AudioOptions:
    """Audio files."""

    preset: job_options.OutputPreset = None
    speed: job_options.OutputSpeed = None
    loudness: LoudnessOption = None
    head: job_options.OutputHeadS = None
    tail: job_options.OutputTailS = None
    room_tone: job_options.OutputRoomToneDb = None
    sample_rate: job_options.OutputSampleRate = None
    bitrate: job_options.OutputFormatsBitrateKbps = None
    chapter_files: ChapterFilesOption = None
    subtitles: SubtitlesOption = None
    karaoke: job_options.OutputKaraoke = None
    timestamps: job_options.OutputTimestamps = None
    destination: job_options.OutputDestinationPrefix = None
    force: ForceOption = False

    def wishes(self, targets: Targets) -> JobOptions:
        """Raises `Misuse` for an unknown suffix."""
        output: OutputFields = {**(given_fields(self).get("output") or {}), "formats": formats(targets, self.bitrate)}
        if self.loudness is not None:
            target_lufs = number_or_none("--loudness", self.loudness, float)
            output["loudness"] = cast("LoudnessFields", None if target_lufs is None else {"target_lufs": target_lufs})
        elif self.preset is None:
            output["loudness"] = LEVELLED
        if self.subtitles:
            output["subtitles"] = [each.value for each in dict.fromkeys(self.subtitles)]
        return {"output": output}


@dataclass(frozen=True, slots=True)
class BookOptions:
    """Tags."""

    title: job_options.OutputTagsTitle = None
    author: job_options.OutputTagsAuthor = None
    narrator: job_options.OutputTagsNarrator = None
    album: job_options.OutputTagsAlbum = None
    series: job_options.OutputTagsSeries = None
    series_part: job_options.OutputTagsSeriesPart = None
    publisher: job_options.OutputTagsPublisher = None
    isbn: job_options.OutputTagsIsbn = None
    date: job_options.OutputTagsDate = None
    genre: job_options.OutputTagsGenre = None
    copyright: job_options.OutputTagsCopyright = None
    description: job_options.OutputTagsDescription = None
    tag_language: job_options.OutputTagsLanguage = None
    cover: CoverOption = None


@dataclass(frozen=True, slots=True)
class SystemOptions(AddressOptions):
    """Server; the last three are for a server that this command starts."""

    slots: SlotsOption = None
    checkpoint: CheckpointOption = None
    device: DeviceOption = None


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """Schedule and webhook."""

    priority: job_options.Priority = None
    not_before: job_options.NotBefore = None
    deadline: job_options.Deadline = None
    webhook: Annotated[
        str | None,
        typer.Option(metavar="URL|ENDPOINT", help="Send a webhook at the end: a URL, or an endpoint's id, whe_..."),
        JobField("webhook", is_by_hand=True),
    ] = None

    def wishes(self) -> JobOptions:
        """Raises `Misuse` for an invalid time or webhook."""
        return {**given_fields(self), "webhook": None if self.webhook is None else _receiver(self.webhook)}


def _receiver(given: str) -> JobWebhookFields:
    if given.startswith(ENDPOINT_PREFIX):
        return {"endpoint_id": given}
    if given.startswith(("https://", "http://")):
        return {"url": given}
    raise Misuse(f"--webhook: {given!r} is neither an address, https://..., nor an endpoint, {ENDPOINT_PREFIX}...")


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """Sampling; the model sets the defaults."""

    seed: job_options.Seed = None
    strict: Annotated[bool, typer.Option("--strict", help="With --seed: make identical speech under any load.")] = False
    no_reuse: Annotated[
        bool, typer.Option("--no-reuse", help="Generate every segment, even if an earlier job has it.")
    ] = False
    do_sample: job_options.SamplingDoSample = None
    temperature: job_options.SamplingTemperature = None
    top_k: job_options.SamplingTopK = None
    top_p: job_options.SamplingTopP = None
    repetition_penalty: job_options.SamplingRepetitionPenalty = None
    subtalker_temperature: job_options.SamplingSubtalkerTemperature = None
    subtalker_top_k: job_options.SamplingSubtalkerTopK = None
    subtalker_top_p: job_options.SamplingSubtalkerTopP = None
    max_new_tokens: job_options.SamplingMaxNewTokens = None

    def wishes(self) -> JobOptions:
        return {
            **given_fields(self),
            "reproducibility": "strict" if self.strict else None,
            "reuse": False if self.no_reuse else None,
        }


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """Quality checks; the server sets the defaults."""

    gate: job_options.QualityGate = None
    attempts: job_options.QualityMaxAttempts = None
    on_exhausted: job_options.QualityOnExhausted = None
