"""The kinds of servers that can be measured, by the name that the command line has for each."""

from __future__ import annotations

from rhapsode.bench.server.targets.kokoro import Kokoro
from rhapsode.bench.server.targets.nari import Nari
from rhapsode.bench.server.targets.nari_live import NariLive
from rhapsode.bench.server.targets.openai import OpenAi
from rhapsode.bench.server.targets.rhapsode_jobs import RhapsodeJobs
from rhapsode.bench.server.targets.rhapsode_live import RhapsodeLive
from rhapsode.bench.server.targets.rhapsode_speech import RhapsodeSpeech
from rhapsode.bench.server.targets.sglang_omni import SglangOmni
from rhapsode.bench.server.targets.target import MakeTarget
from rhapsode.bench.server.targets.vllm_omni import VllmOmni

TARGETS: dict[str, MakeTarget] = {
    "rhapsode": RhapsodeSpeech,
    "rhapsode-live": RhapsodeLive,
    "rhapsode-jobs": RhapsodeJobs,
    "openai": OpenAi,
    "kokoro": Kokoro,
    "vllm-omni": VllmOmni,
    "sglang-omni": SglangOmni,
    "nari": Nari,
    "nari-live": NariLive,
}
