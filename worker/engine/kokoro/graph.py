"""A part of the model's file as a file, cut at named values: protobuf by hand, as onnx.proto3 has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

_GRAPH, _NODE, _INITIALIZER, _INPUT, _OUTPUT = 7, 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _INITIALIZER_NAME, _VALUE_NAME = 1, 2, 8, 1
_FLOATS, _INTEGERS = bytes.fromhex("12040a020801"), bytes.fromhex("12040a020807")
"""Types of a value of an open shape: of 32-bit floats, and of 64-bit integers."""


def part_of(model: bytes, given: Collection[str], wanted: Collection[str]) -> bytes:
    """The nodes that make `wanted` from `given`. Its ends are floats, but for `tokens`."""
    other = [field for number, field, _ in _fields(model) if number != _GRAPH]
    graph = [*_fields(next(content for number, _, content in _fields(model) if number == _GRAPH))]
    needed, nodes = set(wanted), list[bytes]()
    for number, field, node in reversed(graph):  # a node is behind those whose values it takes
        if number == _NODE and not needed.difference(given).isdisjoint(_names(node, _NODE_OUTPUT)):
            nodes.append(field)
            needed.update(_names(node, _NODE_INPUT))
    weights = [f for number, f, held in graph if number == _INITIALIZER and needed & {*_names(held, _INITIALIZER_NAME)}]
    ends = [
        _field(number, _field(_VALUE_NAME, name.encode()) + (_INTEGERS if name == "tokens" else _FLOATS))
        for number, names in ((_INPUT, given), (_OUTPUT, wanted))
        for name in names
    ]
    return b"".join([*other, _field(_GRAPH, b"".join([*reversed(nodes), *weights, _field(2, b"part"), *ends]))])


def _names(message: bytes, wanted: int) -> list[str]:
    return [content.decode() for number, _, content in _fields(message) if number == wanted]


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The number of each, itself, and its content if that is of bytes."""
    start = 0
    while start < len(message):
        key, begin = _read(message, start)
        match key & 7:
            case 0:
                _, end = _read(message, begin)
            case 2:
                length, begin = _read(message, begin)
                end = begin + length
            case wire:
                end = begin + {1: 8, 5: 4}[wire]
        yield key >> 3, message[start:end], message[begin:end]
        start = end


def _read(message: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while message[place] > 127:
        value |= (message[place] & 127) << shift
        place, shift = place + 1, shift + 7
    return value | message[place] << shift, place + 1


def _field(number: int, content: bytes) -> bytes:
    length, sized = len(content), bytearray([number << 3 | 2])
    while length > 127:
        sized.append(length & 127 | 128)
        length >>= 7
    return bytes(sized) + bytes([length]) + content
