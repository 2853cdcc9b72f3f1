"""Changes of the model's graph before onnxruntime reads it, in the bytes of its protobuf.

The numbers of fields and types are those of onnx.proto3 (https://github.com/onnx/onnx, Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

_GRAPH, _NODE, _INITIALIZER, _INPUT, _OUTPUT = 7, 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE, _NODE_ATTRIBUTE, _INITIALIZER_NAME, _VALUE_NAME = 1, 2, 4, 5, 8, 1
_FLOATS, _INTEGERS = bytes.fromhex("12040a020801"), bytes.fromhex("12040a020807")
"""Types of a value of an open shape: of 32-bit floats, and of 64-bit integers."""
_TO_FLOAT, _TO_INTEGER = bytes.fromhex("0a02746f1801a00102"), bytes.fromhex("0a02746f1806a00102")
"""The attribute of a Cast to 32-bit floats, and to 32-bit integers."""


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


def with_float_convolutions(model: bytes) -> bytes:
    """Convolutions of bytes as convolutions of floats, with the same sums: a float holds integers to 2^24 exactly."""
    return b"".join(
        _field(_GRAPH, b"".join(_with_floats(content))) if number == _GRAPH else field
        for number, field, content in _fields(model)
    )


def _with_floats(graph: bytes) -> Iterator[bytes]:
    for number, field, node in _fields(graph):
        if number != _NODE or _names(node, _NODE_TYPE) != ["ConvInteger"]:
            yield field
            continue
        (made,) = _names(node, _NODE_OUTPUT)
        floats = [f"{made}/{each}" for each in ("value", "weight", "value_zero", "weight_zero")]
        for integer, as_float in zip(_names(node, _NODE_INPUT), floats, strict=True):
            yield _node("Cast", [integer], as_float, _TO_FLOAT)
        centred = [f"{each}/centred" for each in floats[:2]]
        for each, zero, output in zip(floats[:2], floats[2:], centred, strict=True):
            yield _node("Sub", [each, zero], output)
        attributes = [content for number, _, content in _fields(node) if number == _NODE_ATTRIBUTE]
        yield _node("Conv", centred, f"{made}/sums", *attributes)
        yield _node("Cast", [f"{made}/sums"], made, _TO_INTEGER)


def _node(operation: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    fields = [(_NODE_INPUT, each.encode()) for each in inputs]
    fields += [(_NODE_OUTPUT, output.encode()), (_NODE_TYPE, operation.encode())]
    fields += [(_NODE_ATTRIBUTE, each) for each in attributes]
    return _field(_NODE, b"".join(_field(*each) for each in fields))


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
