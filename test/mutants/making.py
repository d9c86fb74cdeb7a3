"""Makes mutants: applies cosmic-ray's operators, and one of our own, to the text of a module."""

from __future__ import annotations

import collections
import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import parso.python.tree
from cosmic_ray import mutating
from cosmic_ray.operators import operator, provider

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = "controller/topology_controller"
MUTATED = ("act.py", "reconcile.py", "checks", "decide", "kube", "observe", "report")
"""What decides, reads, writes and reports: modules and packages of the operator."""
_COMPARISONS = ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "LtE_Gt", "Gt_LtE", "GtE_Lt", "Eq_NotEq", "NotEq_Eq")
_IDENTITIES = ("Is_IsNot", "IsNot_Is")
_SUMS = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "BitAnd_BitOr")
_OTHERS = (
    "AddNot", "ReplaceUnaryOperator_Delete_Not", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr",
    "ReplaceOrWithAnd", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """The change that an operator makes the `occurrence`th time that it fits in `file`.

    Where lines move, it is the same as long as its line is: `was`, the `column` in that and which of such it is.
    """

    file: str
    operator: str
    was: str
    column: int
    which: int
    line: int = field(compare=False)
    occurrence: int = field(compare=False)

    def text(self, text: str) -> str:
        """Return the text of the file with the change in it."""
        return str(mutating.mutate_code(text, _OPERATORS[self.operator], self.occurrence))


class Opposite(operator.Operator):  # type: ignore[misc] # cosmic-ray comes without types
    """Swaps min and max, any and all, membership and its contrary."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        if _swapped(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002 - there is one mutation of each place
        return parso.python.tree.Name(f"{node.get_first_leaf().prefix}{_swapped(node)}", node.start_pos)

    @classmethod
    def examples(cls) -> tuple[operator.Example, ...]:
        return (operator.Example("min(a, b)", "max(a, b)"),)


class Except(operator.Operator):  # type: ignore[misc] # cosmic-ray comes without types
    """A handler of what nothing raises. That of cosmic-ray does not know names with a dot."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        if node.type == "except_clause":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002 - there is one mutation of each place
        node.children[1] = parso.python.tree.Name("FloatingPointError", node.children[1].start_pos, prefix=" ")
        return node

    @classmethod
    def examples(cls) -> tuple[operator.Example, ...]:
        return (operator.Example("try: a()\nexcept b.C: d()", "try: a()\nexcept FloatingPointError: d()"),)


class Number(provider.OperatorProvider()["NumberReplacer"]):  # type: ignore[misc] # cosmic-ray comes without types
    """One more, one less; what stands before the number, which may be the end of a line, stays."""

    def mutate(self, node: Any, index: int) -> Any:
        value = super().mutate(node, index).value.strip()
        return parso.python.tree.Number(value, node.start_pos, prefix=node.prefix)


def _swapped(node: Any) -> str:
    """Return what a call's name, or an operator, is replaced with; empty for anything else."""
    if node.type == "name" and (following := node.get_next_sibling()) is not None and following.type == "trailer":
        return {"min": "max", "max": "min", "any": "all", "all": "any"}.get(node.value, "")
    if node.type == "keyword" and node.value == "in" and node.parent.type == "comparison":
        return "not in"
    return "in" if node.type == "comp_op" and node.get_code(include_prefix=False).split() == ["not", "in"] else ""


_OPERATORS: dict[str, Any] = {
    name: provider.OperatorProvider()[name]()
    for name in (
        *(f"ReplaceComparisonOperator_{pair}" for pair in (*_COMPARISONS, *_IDENTITIES)),
        *(f"ReplaceBinaryOperator_{pair}" for pair in _SUMS),
        *_OTHERS,
    )
} | {"Opposite": Opposite(), "Except": Except(), "NumberReplacer": Number()}


def files(root: pathlib.Path = ROOT) -> list[str]:
    """Return the modules that are mutated, relative to the root."""
    places = [root / PACKAGE / name for name in MUTATED]
    modules = [module for place in places for module in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    return [str(module.relative_to(root)) for module in modules if module.exists()]


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """Return every place where an operator fits."""
    tree = parso.parse(text)
    lines = text.splitlines()
    for name, each in _OPERATORS.items():
        places = [start for node in _nodes(tree) for start, _ in each.mutation_positions(node)]
        seen: collections.Counter[tuple[str, int]] = collections.Counter()
        for occurrence, (line, column) in enumerate(places):
            was = lines[line - 1].strip()
            key = (was, column - lines[line - 1].index(was))
            yield Mutant(file, name, *key, seen[key], line, occurrence)
            seen[key] += 1


def _nodes(node: Any) -> Iterator[Any]:
    """Return the nodes in the order in which cosmic-ray walks them."""
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)
