"""Changes of the model's graph before onnxruntime reads it, in the bytes of its protobuf.

The numbers of fields and types are those of onnx.proto3 (https://github.com/onnx/onnx, Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

_GRAPH, _NODE, _INITIALIZER, _INPUT, _OUTPUT = 7, 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE, _NODE_ATTRIBUTE, _VALUE_NAME = 1, 2, 4, 5, 1
_ATTRIBUTE_NAME, _ATTRIBUTE_NUMBER, _ATTRIBUTE_NUMBERS, _ATTRIBUTE_TYPE, _IS_NUMBER, _IS_NUMBERS = 1, 3, 8, 20, 2, 7
_TENSOR_SHAPE, _TENSOR_TYPE, _INITIALIZER_NAME, _TENSOR_DATA, _SIGNED_BYTE, _LONG = 1, 2, 8, 9, 3, 7
_FLOATS, _INTEGERS = bytes.fromhex("12040a020801"), bytes.fromhex("12040a020807")
"""Types of a value of an open shape: of 32-bit floats, and of 64-bit integers."""
_LESS_128 = bytes(byte ^ 128 for byte in range(256))


def part_of(model: bytes, given: Collection[str], wanted: Collection[str]) -> bytes:
    """The nodes that make `wanted` from `given`. Its ends are floats, but for `tokens`."""
    parts = [*_fields(memoryview(model))]
    other = [field for number, field, _ in parts if number != _GRAPH]
    graph = [*_fields(next(content for number, _, content in parts if number == _GRAPH))]
    needed, nodes = set(wanted), list[memoryview]()
    for number, field, node in reversed(graph):  # a node is behind those whose values it takes
        if number == _NODE and not needed.isdisjoint(_names(node, _NODE_OUTPUT)):
            nodes.append(field)
            needed.update(name for name in _names(node, _NODE_INPUT) if name not in given)
    weights = [f for number, f, held in graph if number == _INITIALIZER and needed & {*_names(held, _INITIALIZER_NAME)}]
    ends = [
        _field(number, _field(_VALUE_NAME, name.encode()) + (_INTEGERS if name == "tokens" else _FLOATS))
        for number, names in ((_INPUT, given), (_OUTPUT, wanted))
        for name in names
    ]
    return b"".join([*other, _field(_GRAPH, b"".join([*reversed(nodes), *weights, _field(2, b"part"), *ends]))])


def with_matrix_products(model: bytes) -> bytes:
    """Convolutions of bytes as matrix products of bytes, with the same sums.

    VNNI multiplies unsigned by signed bytes; onnxruntime uses it in products whose second matrix is signed.
    """
    return b"".join(
        _field(_GRAPH, b"".join(_with_products(content))) if number == _GRAPH else field
        for number, field, content in _fields(memoryview(model))
    )


def _with_products(graph: memoryview) -> Iterator[bytes | memoryview]:
    parts = [(number, field, part, _is_convolution(number, part)) for number, field, part in _fields(graph)]
    filters = {_names(node, _NODE_INPUT)[1] for _, _, node, is_convolution in parts if is_convolution}
    for number, field, part, is_convolution in parts:
        if is_convolution:
            yield from _product(part)
        elif number == _INITIALIZER and not filters.isdisjoint(_names(part, _INITIALIZER_NAME)):
            yield _field(_INITIALIZER, b"".join(_signed(part)))
        else:
            yield field


def _is_convolution(number: int, part: memoryview) -> bool:
    return number == _NODE and _names(part, _NODE_TYPE) == ["ConvInteger"]


def _signed(tensor: memoryview) -> Iterator[bytes | memoryview]:
    """The same numbers less 128, as signed bytes."""
    for number, field, content in _fields(tensor):
        if number == _TENSOR_TYPE:
            yield _field(_TENSOR_TYPE, _SIGNED_BYTE)
        elif number == _TENSOR_DATA:
            yield _field(_TENSOR_DATA, bytes(content).translate(_LESS_128))
        else:
            yield field


def _product(node: memoryview) -> list[bytes]:
    """From samples (1, C, T) and signed filters (D, C, K), each with its zero, come sums (1, D, places)."""
    (made,), (samples, filters, zero, filters_zero) = _names(node, _NODE_OUTPUT), _names(node, _NODE_INPUT)
    options = dict(_option(content) for number, _, content in _fields(node) if number == _NODE_ATTRIBUTE)
    (before, after), (spread,), (length,) = options["pads"], options["dilations"], options["kernel_shape"]
    steps = _Steps(made)
    first = steps.numbers(0)
    signed_zero = steps.add("Sub", steps.add("Cast", filters_zero, to=_LONG), steps.numbers(128))

    matrix = steps.add("Flatten", steps.add("Transpose", filters, perm=(2, 1, 0)), axis=2)  # (K C, D)

    turned = steps.add("Transpose", steps.add("Flatten", samples, axis=2), perm=(1, 0))  # (T, C)
    padded = steps.add("Pad", turned, steps.numbers(before, 0, after, 0), zero)
    behind = steps.add("Sub", steps.add("Shape", padded, start=0, end=1), steps.numbers((length - 1) * spread))
    places = steps.add("Range", first, behind, steps.numbers(*options["strides"]))
    below = steps.numbers(*range(0, length * spread, spread))
    rows = steps.add("Add", steps.add("Unsqueeze", places, steps.numbers(1)), below)
    windows = steps.add("Flatten", steps.add("Gather", padded, rows), axis=1)  # (places, K C)

    sums = steps.add("MatMulInteger", windows, matrix, zero, steps.add("Cast", signed_zero, to=_SIGNED_BYTE))
    steps.add("Unsqueeze", steps.add("Transpose", sums, perm=(1, 0)), first, output=made)
    return steps.made


class _Steps:
    """Nodes and constants of a graph in their order. name: what the names of their values begin with."""

    def __init__(self, name: str) -> None:
        self.made: list[bytes] = []
        self._name = name

    def add(self, operation: str, *inputs: str, output: str = "", **options: int | Sequence[int]) -> str:
        """The name of the output of one more node."""
        output = output or f"{self._name}/{len(self.made)}"
        fields = [(_NODE_INPUT, each.encode()) for each in inputs]
        fields += [(_NODE_OUTPUT, output.encode()), (_NODE_TYPE, operation.encode())]
        fields += [(_NODE_ATTRIBUTE, _attribute(*each)) for each in options.items()]
        self.made.append(_field(_NODE, b"".join(_field(*each) for each in fields)))
        return output

    def numbers(self, *values: int) -> str:
        """The name of one more constant."""
        name, data = f"{self._name}/{len(self.made)}", b"".join(each.to_bytes(8, "little") for each in values)
        named = _field(_INITIALIZER_NAME, name.encode()) + _field(_TENSOR_DATA, data)
        self.made.append(_field(_INITIALIZER, _field(_TENSOR_SHAPE, len(values)) + _field(_TENSOR_TYPE, _LONG) + named))
        return name


def _attribute(name: str, value: int | Sequence[int]) -> bytes:
    named = _field(_ATTRIBUTE_NAME, name.encode())
    if isinstance(value, int):
        return named + _field(_ATTRIBUTE_NUMBER, value) + _field(_ATTRIBUTE_TYPE, _IS_NUMBER)
    return named + b"".join(_field(_ATTRIBUTE_NUMBERS, each) for each in value) + _field(_ATTRIBUTE_TYPE, _IS_NUMBERS)


def _option(attribute: memoryview) -> tuple[str, list[int]]:
    """The name of an attribute and its list of numbers."""
    (name,) = _names(attribute, _ATTRIBUTE_NAME)
    return name, [_read(content, 0)[0] for number, _, content in _fields(attribute) if number == _ATTRIBUTE_NUMBERS]


def _names(message: memoryview, wanted: int) -> list[str]:
    return [str(content, "utf-8") for number, _, content in _fields(message) if number == wanted]


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """The number of each, itself, and its content, of which nothing is copied."""
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


def _read(message: memoryview, place: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while message[place] > 127:
        value |= (message[place] & 127) << shift
        place, shift = place + 1, shift + 7
    return value | message[place] << shift, place + 1


def _written(value: int) -> bytes:
    """A number of variable length."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return _written(number << 3) + _written(content)
    return _written(number << 3 | 2) + _written(len(content)) + content
