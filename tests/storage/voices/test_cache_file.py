"""A cached voice's file: read back exactly, readable by others, and refused when anything about it is wrong."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.contract.voices.modes import CacheMode
from storage.voices.cache_file import (
    MAX_HEADER_BYTES,
    ArtifactDamaged,
    ArtifactFormatError,
    ArtifactHeader,
    ArtifactUnknown,
    InContextPart,
    Tensor,
    VoiceArtifact,
    decode_artifact,
    encode_artifact,
    float_tensor,
    tensor_values,
)
from tests.property_tests import examples

NUM_DAMAGED_FILES = 1_000
HEADER = ArtifactHeader(
    content="c" * 64,
    model="qwen3-tts-0.6b-base",
    model_revision="5d839924",
    codec_revision="ab12",
    mode=CacheMode.IN_CONTEXT,
    ref_text="Grüße von der Küste.",
)


def voice(num_frames: int = 25) -> VoiceArtifact:
    codes = np.arange(num_frames * 16, dtype="<i2").reshape(num_frames, 16) % 2048
    ids = np.arange(7, dtype="<i4") + 151_000
    return VoiceArtifact(
        HEADER,
        float_tensor(tuple(i / 64 - 1 for i in range(128))),
        InContextPart(Tensor("I16", codes.shape, codes.tobytes()), Tensor("I32", ids.shape, ids.tobytes())),
    )


def bare_voice() -> VoiceArtifact:
    header = replace(HEADER, mode=CacheMode.X_VECTOR, ref_text="")
    return VoiceArtifact(header, float_tensor((0.25, -0.5, 1.0)))


@pytest.mark.parametrize("artifact", [voice(), voice(1), bare_voice()])
def test_what_was_written_is_read_back_and_written_again_to_the_same_bytes(artifact: VoiceArtifact) -> None:
    data = encode_artifact(artifact)

    assert decode_artifact(data) == artifact
    assert encode_artifact(decode_artifact(data)) == data


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=64))
def test_an_embedding_keeps_every_bit(values: list[float]) -> None:
    artifact = replace(bare_voice(), x_vector=float_tensor(tuple(values)))

    assert tensor_values(decode_artifact(encode_artifact(artifact)).x_vector) == tuple(values)


def test_the_safetensors_library_reads_the_file() -> None:
    artifact = voice()

    tensors = safetensors.numpy.load(encode_artifact(artifact))

    assert tensors.keys() == {"x_vector", "ref_code", "ref_text_ids"}
    assert tensors["x_vector"].dtype == np.float32
    assert tensors["ref_code"].dtype == np.int16
    assert tensors["ref_code"].shape == (25, 16)
    assert tensors["ref_text_ids"].tolist() == list(range(151_000, 151_007))
    assert tuple(tensors["x_vector"].tolist()) == tensor_values(artifact.x_vector)


def test_a_file_with_another_digest_than_the_recorded_one_is_damaged() -> None:
    data = encode_artifact(voice())

    assert decode_artifact(data, hashlib.sha256(data).hexdigest()) == voice()
    with pytest.raises(ArtifactDamaged, match="recorded"):
        decode_artifact(data, hashlib.sha256(data + b" ").hexdigest())


@pytest.mark.parametrize(
    ("header", "error"),
    [
        (b"[]", ArtifactUnknown),
        (b"{}", ArtifactUnknown),
        (b'{"__metadata__":{"voice":"{}"}}', ArtifactUnknown),
        (b'{"__metadata__":{"voice":7}}', ArtifactUnknown),
        (b'{"__metadata__":{"format":"pt"}}', ArtifactUnknown),
        (b"[" * 60_000, ArtifactDamaged),
        (b"\xff\xfe{}", ArtifactDamaged),
        (b'{"a":1,"a":2}', ArtifactDamaged),
    ],
)
def test_a_strange_header_is_refused_by_its_kind(header: bytes, error: type[ArtifactFormatError]) -> None:
    with pytest.raises(error):
        decode_artifact(struct.pack("<Q", len(header)) + header)


def test_a_header_is_not_read_beyond_its_bound() -> None:
    claimed = struct.pack("<Q", MAX_HEADER_BYTES + 1) + b" " * (MAX_HEADER_BYTES + 1)

    with pytest.raises(ArtifactDamaged, match="header of"):
        decode_artifact(claimed)
    with pytest.raises(ArtifactDamaged, match="header of"):
        decode_artifact(struct.pack("<Q", 2**63) + b"{}")


def altered(path: tuple[str, str], value: object) -> bytes:
    """The file of a voice with one field of its table replaced."""
    data = encode_artifact(voice())
    (length,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + length])
    table[path[0]][path[1]] = value
    head = json.dumps(table).encode()
    return struct.pack("<Q", len(head)) + head + data[8 + length :]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("x_vector", "shape"), [2**62]),
        (("x_vector", "shape"), [-128]),
        (("x_vector", "shape"), [64]),
        (("x_vector", "shape"), [1] * 40),
        (("x_vector", "dtype"), "F16"),
        (("x_vector", "dtype"), "I32"),
        (("x_vector", "data_offsets"), [0, 2**60]),
        (("x_vector", "data_offsets"), [8, 512]),
        (("x_vector", "data_offsets"), [512, 0]),
        (("ref_code", "data_offsets"), [0, 512]),
        (("ref_code", "shape"), [400]),
    ],
)
def test_a_table_that_does_not_fit_its_data_is_damaged(path: tuple[str, str], value: object) -> None:
    with pytest.raises(ArtifactDamaged):
        decode_artifact(altered(path, value))


def test_another_version_is_unknown_and_not_guessed() -> None:
    data = encode_artifact(voice())
    newer = data.replace(b'\\"format\\": 1', b'\\"format\\": 2')
    assert newer != data

    with pytest.raises(ArtifactUnknown, match="format 2"):
        decode_artifact(newer)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (lambda: replace(bare_voice(), x_vector=float_tensor((1.0, float("nan")))), "finite"),
        (lambda: float_tensor((1e39,)), "finite"),
        (lambda: replace(bare_voice(), x_vector=float_tensor(())), "x_vector"),
        (lambda: replace(voice(), in_context=None), "does not fit"),
        (lambda: replace(bare_voice(), header=HEADER), "does not fit"),
        (lambda: replace(bare_voice(), header=replace(HEADER, mode=CacheMode.X_VECTOR)), "reference text"),
        (lambda: replace(bare_voice(), header=replace(bare_voice().header, content="")), "content"),
        (lambda: replace(voice(), header=replace(HEADER, ref_text="x" * 5_000)), "5000 characters"),
    ],
)
def test_a_voice_that_could_not_be_spoken_with_cannot_be_made(wrong: object, complaint: str) -> None:
    assert callable(wrong)

    with pytest.raises(ArtifactFormatError, match=complaint):
        wrong()


def test_a_thousand_damaged_files_are_each_refused_by_a_typed_error() -> None:
    good = encode_artifact(voice())
    digest = hashlib.sha256(good).hexdigest()
    silent = 0

    for seed in range(NUM_DAMAGED_FILES):
        bad = damaged(good, random.Random(seed))
        if bad == good:
            continue
        with pytest.raises(ArtifactFormatError):
            decode_artifact(bad, digest)
        silent += reads_as_another(bad, good)

    # Without the recorded digest only words of the header that nothing else depends on can change unnoticed.
    assert silent < NUM_DAMAGED_FILES // 10


def damaged(good: bytes, random: random.Random) -> bytes:
    """Flipped bits, cuts, insertions, overwritten lengths and swapped stretches."""
    data = bytearray(good)
    match random.randrange(6):
        case 0:
            for _ in range(random.randint(1, 16)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        case 1:
            del data[random.randrange(len(data)) :]
        case 2:
            at = random.randrange(len(data))
            data[at:at] = random.randbytes(random.randint(1, 64))
        case 3:
            data[:8] = struct.pack("<Q", random.choice([0, 1, 7, 2**16, 2**31, 2**63, random.getrandbits(64)]))
        case 4:
            at = random.randrange(8, 500)
            data[at : at + random.randint(1, 40)] = random.randbytes(random.randint(0, 40))
        case _:
            at = random.randrange(len(data))
            data = data[at:] + data[:at]
    return bytes(data)


def reads_as_another(bad: bytes, good: bytes) -> bool:
    """Whether the file alone, without a recorded digest, is taken for a voice; its tensors must then be the same."""
    try:
        artifact = decode_artifact(bad)
    except ArtifactFormatError:
        return False
    original = decode_artifact(good)
    assert (artifact.x_vector, artifact.in_context) == (original.x_vector, original.in_context)
    return True


@settings(max_examples=examples(200))
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    with pytest.raises(ArtifactFormatError):
        decode_artifact(data)
