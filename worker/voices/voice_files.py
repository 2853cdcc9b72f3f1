"""Between the engine's voice prompts and the files that keep them. Pure.

Nothing is lost on the way: what is spoken from a file is what would have been spoken from the recording, code by code.
"""

from __future__ import annotations

import numpy as np

from rhapsode.contract.voices.modes import CacheMode
from storage.ids import ContentKey
from storage.voices.cache_file import ArtifactHeader, InContextPart, Tensor, VoiceArtifact
from worker.engine.interface import InContextPrompt, VoicePrompt, XVectorPrompt


def to_artifact(prompt: VoicePrompt, content: ContentKey, model: str, revision: str) -> VoiceArtifact:
    """`revision` is the checkpoint's, whose digest covers its speech tokenizer.

    Raises `ArtifactFormatError` for a prompt that no file could give back.
    """
    match prompt:
        case XVectorPrompt(embedding):
            header = ArtifactHeader(content, model, revision, revision, CacheMode.X_VECTOR)
            return VoiceArtifact(header, _tensor("F32", "<f4", embedding))
        case InContextPrompt(embedding, ref_code, ref_text, ids):
            header = ArtifactHeader(content, model, revision, revision, CacheMode.IN_CONTEXT, ref_text)
            part = InContextPart(_tensor("I16", "<i2", ref_code), _tensor("I32", "<i4", np.array(ids, np.int32)))
            return VoiceArtifact(header, _tensor("F32", "<f4", embedding), part)


def to_prompt(artifact: VoiceArtifact) -> VoicePrompt:
    """The prompt as the engine made it, in new arrays: torch takes only writable ones."""
    embedding = _array(artifact.x_vector, "<f4").astype(np.float32)
    if artifact.in_context is None:
        return XVectorPrompt(embedding)
    part = artifact.in_context
    ref_code = _array(part.ref_code, "<i2").astype(np.int16)
    ids = tuple(int(i) for i in _array(part.ref_text_ids, "<i4"))
    return InContextPrompt(embedding, ref_code, artifact.header.ref_text, ids)


def memory_bytes(prompt: VoicePrompt) -> int:
    """What a kept prompt takes, with its objects, within a few percent."""
    match prompt:
        case XVectorPrompt(embedding):
            return _OBJECTS_BYTES + embedding.nbytes
        case InContextPrompt(embedding, ref_code, ref_text, ids):
            # An id of a large vocabulary is a separate object of 28 bytes, after a pointer of 8.
            return _OBJECTS_BYTES + embedding.nbytes + ref_code.nbytes + len(ref_text.encode()) + 36 * len(ids)


_OBJECTS_BYTES = 600


def _tensor(dtype: str, order: str, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
    return Tensor(dtype, values.shape, values.astype(order, casting="safe").tobytes())


def _array(tensor: Tensor, order: str) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return np.frombuffer(tensor.data, order).reshape(tensor.shape)
