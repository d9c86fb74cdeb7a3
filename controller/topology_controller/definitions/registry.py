"""The registry of checks: everything that is known of a check, but the function that answers it.

A new check is a name in `topology_api.vocabulary.CheckName`, a row in bindata/checks.json, what to do about it in
hack/explanations/checks.yaml, and a function in `checks.catalog`. One that is about operands is its name and their file
in `bindata/operands`: it has a row only where something is special. Tests say which of them is missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from topology_api.vocabulary import AdvisoryName, CheckName, Stage

from .. import bindata


@dataclass(frozen=True, slots=True)
class Traits:
    """What a definition may ask, what the check needs, and what an administrator may do about it.

    `stages`: where a definition may ask it; none: every admission implies it. `required` and `optional` are parameters
    as the file spells them. `operands`: it is answered by its group of the operand matrix. `acceptable`: what the
    cluster goes without when it is accepted past the deadline; empty but for workloads. `advisory`: it waits for it.
    """

    stages: frozenset[Stage]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    operands: bool = False
    acceptable: str = ""
    advisory: AdvisoryName | None = None

    @property
    def parameters(self) -> frozenset[str]:
        """Every parameter that the check takes."""
        return self.required | self.optional


_OTHER = Traits(
    frozenset({Stage.CONVERGENCE}),
    operands=True,
    acceptable="the loss of one node may take along what it is about, until that has started elsewhere",
)


def _traits() -> dict[CheckName, Traits]:
    """Read bindata/checks.json. Raises bindata.BindataMissingError when the operator came without it."""
    # By hand: the completion of a command line reads this, and need not wait for pydantic.
    rows: dict[str, Any] = json.loads((bindata.root() / "checks.json").read_text(encoding="utf-8"))
    for row in rows.values():
        row |= {name: frozenset(row[name]) for name in ("required", "optional") if name in row}
        row["stages"] = frozenset(map(Stage, row["stages"]))
        row["advisory"] = AdvisoryName(row["advisory"]) if "advisory" in row else None
    return {CheckName(name): Traits(**row) for name, row in rows.items()}


TRAITS: Final = _traits()
TRAITS.update({check: _OTHER for check in CheckName if check not in TRAITS})
ASKED: Final = tuple(check for check, traits in TRAITS.items() if traits.stages)
OPERAND_CHECKS: Final = tuple(check for check, traits in TRAITS.items() if traits.operands)
"""The checks that cannot be answered without their group of the matrix."""
ACCEPTABLE_CHECKS: Final = tuple(check for check, traits in TRAITS.items() if traits.acceptable)
"""The checks of workloads that an administrator may accept past the deadline."""
