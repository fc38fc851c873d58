"""Formulas written down as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# The first version of the operators in which axes of all reductions are inputs, and the format of
# files that came with it: runtimes since 2023 read them.
OPSET, IR_VERSION = 18, 8


@dataclass(frozen=True, eq=False)
class Value:
    """A result in a graph; arithmetic with it adds nodes."""

    tape: Tape
    name: str

    def __add__(self, other: Operand) -> Value:
        return self.tape.op("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.tape.op("Sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return self.tape.op("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.tape.op("Div", self, other)

    def __matmul__(self, other: Operand) -> Value:
        return self.tape.op("MatMul", self, other)

    def below(self, other: Operand) -> Value:
        """Where it is less than another."""
        return self.tape.op("Less", self, other)

    def at_most(self, other: Operand) -> Value:
        """Where it is no more than another."""
        return self.tape.op("LessOrEqual", self, other)

    def above(self, other: Operand) -> Value:
        """Where it is more than another."""
        return self.tape.op("Greater", self, other)

    def __and__(self, other: Value) -> Value:
        return self.tape.op("And", self, other)

    def __or__(self, other: Value) -> Value:
        return self.tape.op("Or", self, other)

    def __invert__(self) -> Value:
        return self.tape.op("Not", self)

    def __abs__(self) -> Value:
        return self.tape.op("Abs", self)


Operand = Value | float | npt.NDArray[Any]


class Tape:
    """Nodes in the order in which they were written, and the constants they use.

    `onnx` is that package, which is optional.
    """

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._scalars: dict[tuple[str, bytes], Value] = {}
        self._count = 0

    def op(self, kind: str, *inputs: Operand, name: str | None = None, **attributes: Any) -> Value:
        """Result of an operator that has one, with a `name` of its own if it is an output."""
        out = Value(self, name or self._new_name())
        names = [self.value(one).name for one in inputs]
        self.nodes.append(self.onnx.helper.make_node(kind, names, [out.name], **attributes))
        return out

    def value(self, given: Operand) -> Value:
        """`given`, or a constant of it: whole numbers are int64, others float64."""
        if isinstance(given, Value):
            return given
        array = np.asarray(given)
        kinds = {"b": np.bool_, "i": np.int64, "f": np.float64}
        array = np.ascontiguousarray(array.astype(kinds[array.dtype.kind])).reshape(array.shape)
        key = (array.dtype.str, array.tobytes())
        if array.ndim == 0 and key in self._scalars:
            return self._scalars[key]
        out = Value(self, self._new_name())
        self.constants.append(self.onnx.numpy_helper.from_array(array, out.name))
        if array.ndim == 0:
            self._scalars[key] = out
        return out

    # ---- what is used more than once ------------------------------------------------------------

    def where(self, condition: Value, yes: Operand, no: Operand) -> Value:
        """`yes` where the condition holds, and `no` elsewhere."""
        return self.op("Where", condition, yes, no)

    def column(self, rows: Value) -> Value:
        """(n,) as (n, 1)."""
        return self.op("Unsqueeze", rows, np.array([1]))

    def floats(self, mask: Value) -> Value:
        """One where a mask holds, and zero elsewhere."""
        return self.op("Cast", mask, to=self.onnx.TensorProto.DOUBLE)

    def row_sums(self, values: Value) -> Value:
        """Sums (n,) of the rows of (n, m)."""
        return self.op("ReduceSum", values, np.array([1]), keepdims=0)

    def row_norms(self, values: Value) -> Value:
        """Euclidean norms (n,) of the rows of (n, m)."""
        return self.op("Sqrt", self.row_sums(values * values))

    def any_in_row(self, mask: Value) -> Value:
        """Rows (n,) of a mask (n, m) in which it holds somewhere."""
        return self.row_sums(self.floats(mask)).above(0.0)

    def full(self, like: Value, number: float, *more: int) -> Value:
        """One `number` for each row of `like`, (n, *more)."""
        n = self.op("Shape", like, start=0, end=1)
        shape = self.op("Concat", n, np.array(more, dtype=np.int64), axis=0) if more else n
        fill = self.onnx.numpy_helper.from_array(np.array([number]))
        return self.op("ConstantOfShape", shape, value=fill)

    # ---- graphs in the graph --------------------------------------------------------------------

    @contextmanager
    def _apart(self) -> Iterator[list[Any]]:
        """Collect the nodes that are written in the block; they may use all that is outside."""
        outside, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outside

    def if_else(self, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """Result of one of two branches; the other is not run."""
        branches = []
        for write in (yes, no):
            with self._apart() as nodes:
                out = write()
            branches.append(self.graph(nodes, [], [self.floating(out)]))
        return self.op("If", condition, then_branch=branches[0], else_branch=branches[1])

    def repeat(self, times: int, start: Value, step: Callable[[Value, Value], Value]) -> Value:
        """What becomes of `start` after so many steps; `step(i, state)` writes the i-th."""
        i, go_on, state = (Value(self, self._new_name()) for _ in range(3))
        with self._apart() as nodes:
            after = step(i, state)
            still = self.op("Identity", go_on)
        make, kinds = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        body = self.graph(
            nodes,
            [
                make(i.name, kinds.INT64, []),
                make(go_on.name, kinds.BOOL, []),
                self.floating(state),
            ],
            [make(still.name, kinds.BOOL, []), self.floating(after)],
        )
        return self.op("Loop", np.array(times), np.array(True), start, body=body)

    def floating(self, value: Value, shape: Sequence[str | int] | None = None) -> Any:
        """Description of a float64 result."""
        kind = self.onnx.TensorProto.DOUBLE
        return self.onnx.helper.make_tensor_value_info(value.name, kind, shape)

    def graph(self, nodes: list[Any], inputs: list[Any], outputs: list[Any], **more: Any) -> Any:
        """A graph of nodes."""
        return self.onnx.helper.make_graph(nodes, self._new_name(), inputs, outputs, **more)

    def _new_name(self) -> str:
        self._count += 1
        return f"v{self._count}"
