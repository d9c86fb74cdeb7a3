"""What goes into a check and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.vocabulary import CheckStatus, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from topology_api.types import Baseline
    from topology_api.vocabulary import CheckName

    from ..observe import facts
    from ..operands import model as matrices
    from ..transitions import model


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The answer to one question."""

    name: CheckName
    status: CheckStatus
    message: str

    @property
    def met(self) -> bool:
        """Met; Unmet and Unknown are both not."""
        return self.status is CheckStatus.MET


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What convergence is measured by: how it was at the flip (None: nobody knows), and the operand matrix.

    `accepted` are checks that somebody has declared not to come: their operators need not be seen to react.
    """

    baseline: Baseline | None = None
    matrix: matrices.Matrix | None = None
    accepted: frozenset[CheckName] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that a check may look at: facts, its own parameters, the definition, the time and the stage.

    `yardstick` matters after the flip. `now` is aware UTC.
    """

    facts: facts.Facts
    spec: model.CheckSpec
    definition: model.Definition
    now: datetime
    yardstick: Yardstick = Yardstick()
    stage: Stage = Stage.PREFLIGHT

    @property
    def converging(self) -> bool:
        """Is this asked after the flip?"""
        return self.stage is Stage.CONVERGENCE

    def group(self, check: CheckName | None = None) -> matrices.Group | None:
        """What the matrix says about the operands of this check, or of another one."""
        matrix = self.yardstick.matrix
        return matrix.group(check or self.spec.check) if matrix is not None else None

    def met(self, message: str) -> CheckResult:
        """Answer that what is wanted was found."""
        return CheckResult(self.spec.check, CheckStatus.MET, message)

    def unmet(self, message: str) -> CheckResult:
        """Answer that something else was found."""
        return CheckResult(self.spec.check, CheckStatus.UNMET, message)

    def unknown(self, message: object) -> CheckResult:
        """Answer that it could not be found out, and why."""
        return CheckResult(self.spec.check, CheckStatus.UNKNOWN, f"Cannot tell: {message}")


def listed(names: Iterable[str], most: int = 8) -> str:
    """Join names for a message, with a bound: a message must stay readable on a large cluster."""
    all_names = list(names)
    shown = ", ".join(all_names[:most])
    return shown if len(all_names) <= most else f"{shown} and {len(all_names) - most} more"


def unreadable(items: Iterable[object], kind: type) -> str:
    """Name the objects of a list that are not facts of this kind, or an empty string."""
    return listed(str(item) for item in items if not isinstance(item, kind))
