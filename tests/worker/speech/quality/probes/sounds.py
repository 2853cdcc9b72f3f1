"""Damage to the sound: the words are right, and nobody wants to hear them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.worker.speech.quality.probes.given import Given, Probe, inside
from tests.worker.speech.quality.probes.stretching import shifted, stretched
from worker.engine.interface import Pcm
from worker.speech.quality.calibration.calibrate import Example

BURST_S = 0.2
_CRACKLES_PER_S = 8


def click(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """One sample is off by so many times the loud level."""
    pcm = given.pcm.copy()
    pcm[inside(given, 2, rng) + int(rng.integers(0, 200))] += np.float32(rng.choice([-1, 1]) * strength * given.loud)
    return given.sounding(pcm)


def crackle(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Eight clicks a second, from end to end."""
    pcm = given.pcm.copy()
    places = rng.integers(0, len(pcm), max(4, round(_CRACKLES_PER_S * len(pcm) / given.rate_hz)))
    pcm[places] += (rng.choice([-1, 1], len(places)) * strength * given.loud).astype(np.float32)
    return given.sounding(pcm)


def noise_burst(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """A fifth of a second of white noise at so many dB of the loud level."""
    pcm, length = given.pcm.copy(), round(BURST_S * given.rate_hz)
    place = int(rng.integers(0, max(1, len(pcm) - length)))
    burst = rng.normal(0, given.loud * 10 ** (strength / 20), len(pcm[place : place + length]))
    pcm[place : place + length] += burst.astype(np.float32)
    return given.sounding(pcm)


def dull_burst(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """The same below 4 kHz."""
    pcm, length = given.pcm.copy(), round(BURST_S * given.rate_hz)
    place = int(rng.integers(0, max(1, len(pcm) - length)))
    noise = _passed(rng.normal(size=length), given.rate_hz, 0, 4_000)
    noise *= given.loud * 10 ** (strength / 20) / noise.std()
    pcm[place : place + length] += noise[: len(pcm[place : place + length])].astype(np.float32)
    return given.sounding(pcm)


def hole(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """So many seconds inside a sound are missing, and silence stands there."""
    pcm, length = given.pcm.copy(), round(strength * given.rate_hz)
    place = inside(given, length, rng)
    pcm[place : place + length] = 0
    return given.sounding(pcm)


def faint_hole(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """The same with a decoder's faint noise in it, and 5 ms of fading at its edges."""
    pcm, length, edge = given.pcm.copy(), round(strength * given.rate_hz), round(0.005 * given.rate_hz)
    place = inside(given, length, rng)
    gain = np.ones(length)
    gain[:edge], gain[-edge:] = np.linspace(0, 1, edge), np.linspace(1, 0, edge)
    stretch = pcm[place : place + length]
    stretch *= (1 - gain[: len(stretch)]).astype(np.float32)
    stretch += rng.normal(0, 1e-4, len(stretch)).astype(np.float32)
    return given.sounding(pcm)


def skip(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """So many seconds inside a sound are left out, the ends put hard together."""
    length = round(strength * given.rate_hz)
    place = inside(given, length, rng)
    return given.sounding(np.concatenate((given.pcm[:place], given.pcm[place + length :])))


def higher(given: Given, strength: float, rng: np.random.Generator) -> Example:
    return given.sounding(shifted(given.pcm, given.rate_hz, strength))


def lower(given: Given, strength: float, rng: np.random.Generator) -> Example:
    return given.sounding(shifted(given.pcm, given.rate_hz, -strength))


def hurried(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """So many times as fast, at the same pitch."""
    return given.sounding(stretched(given.pcm, given.rate_hz, 1 / strength))


def drawled(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """So many times as long, at the same pitch."""
    return given.sounding(stretched(given.pcm, given.rate_hz, strength))


def muffled(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Nothing above so many Hz."""
    return given.sounding(_passed(given.pcm, given.rate_hz, 0, strength))


def telephone(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Nothing below 300 nor above so many Hz."""
    return given.sounding(_passed(given.pcm, given.rate_hz, 300, strength))


def thin(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Nothing below so many Hz."""
    return given.sounding(_passed(given.pcm, given.rate_hz, strength, given.rate_hz))


def hiss(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """White noise all the time, at so many dB of the loud level."""
    return given.sounding(given.pcm + rng.normal(0, given.loud * 10 ** (strength / 20), len(given.pcm)))


def hum(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Of the mains, 50 Hz and its overtones, at so many dB of the loud level."""
    seconds = np.arange(len(given.pcm)) / given.rate_hz
    tones = sum(np.sin(2 * np.pi * 50 * number * seconds) / number for number in (1, 2, 3, 5))
    return given.sounding(given.pcm + tones / np.std(tones) * given.loud * 10 ** (strength / 20))


def wrong_level(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """All of it louder or softer by so many dB."""
    return given.sounding(np.clip(given.pcm * 10 ** (strength / 20), -1, 1))


def jump(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """From some place in its middle on, softer by so many dB."""
    pcm = given.pcm.copy()
    pcm[round(len(pcm) * rng.uniform(0.35, 0.65)) :] *= np.float32(10 ** (-strength / 20))
    return given.sounding(pcm)


def fade(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Softer and softer, at its end by so many dB."""
    return given.sounding(given.pcm * 10 ** (-strength / 20 * np.linspace(0, 1, len(given.pcm))))


def echo(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """All of it again 0.15 s later, at so many dB."""
    late = np.roll(given.pcm, round(0.15 * given.rate_hz)) * 10 ** (strength / 20)
    late[: round(0.15 * given.rate_hz)] = 0
    return given.sounding(given.pcm + late)


def robot(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Multiplied by a tone of so many Hz."""
    return given.sounding(given.pcm * np.sin(2 * np.pi * strength * np.arange(len(given.pcm)) / given.rate_hz))


def wrong_speaker(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Another speaker says it."""
    return given.sounding(given.twin.speech.pcm)


def changing_speaker(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """From such a share of it on, another speaker goes on."""
    mine, theirs = given.pcm, given.twin.speech.pcm
    return given.sounding(
        np.concatenate((mine[: round(strength * len(mine))], theirs[round(strength * len(theirs)) :]))
    )


def _passed(pcm: NDArray[np.floating], rate_hz: int, low_hz: float, high_hz: float) -> Pcm:
    spectrum = np.fft.rfft(pcm)
    hertz = np.fft.rfftfreq(len(pcm), 1 / rate_hz)
    spectrum[(hertz < low_hz) | (hertz > high_hz)] *= 1e-3
    return np.fft.irfft(spectrum, len(pcm)).astype(np.float32)


PROBES = (
    Probe("click", click, (1, 2, 4), "× loud"),
    Probe("crackle", crackle, (0.5, 1, 2), "× loud"),
    Probe("noise burst", noise_burst, (-20, -10, 0), "dB"),
    Probe("noise burst below 4 kHz", dull_burst, (-20, -10, 0), "dB"),
    Probe("hole of 0.05 to 0.1 s", hole, (0.05, 0.1), "s"),
    Probe("hole of 0.2 s", hole, (0.2,), "s"),
    Probe("hole of 0.5 s", hole, (0.5,), "s"),
    Probe("hole with faint noise and soft edges", faint_hole, (0.1, 0.2, 0.5), "s"),
    Probe("skip", skip, (0.04, 0.08, 0.16), "s"),
    Probe("higher", higher, (2, 4, 6), "semitones"),
    Probe("lower", lower, (2, 4, 6), "semitones"),
    Probe("hurried", hurried, (1.25, 1.5, 2), "× as fast"),
    Probe("drawled", drawled, (1.25, 1.5, 2), "× as long"),
    Probe("muffled", muffled, (3_000, 2_000, 1_000), "Hz"),
    Probe("telephone", telephone, (3_400,), "Hz"),
    Probe("thin", thin, (500, 1_000), "Hz"),
    Probe("hiss", hiss, (-30, -20, -10), "dB"),
    Probe("hum", hum, (-30, -20, -10), "dB"),
    Probe("too soft", wrong_level, (-12, -20, -30), "dB"),
    Probe("too loud", wrong_level, (6, 12), "dB"),
    Probe("level falls inside", jump, (6, 9, 12), "dB"),
    Probe("fades away", fade, (12, 20, 40), "dB"),
    Probe("echo", echo, (-10, -6, -3), "dB"),
    Probe("robot", robot, (30, 70), "Hz"),
    Probe("wrong speaker", wrong_speaker, (1,), ""),
    Probe("speaker changes", changing_speaker, (0.66, 0.5, 0.33), "share"),
)
