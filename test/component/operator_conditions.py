"""What ClusterOperator `topology` tells, condition by condition, and neighbours that are kept from minding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from test import polling

if TYPE_CHECKING:
    from test.component import reactors
    from test.component.world import World

FIVE = ("Available", "Progressing", "Degraded", "Upgradeable", "Disabled")
_AS_EXPECTED = dict.fromkeys(FIVE, "AsExpected")


async def told(world: World) -> dict[str, str]:
    """The reason of each condition of ClusterOperator topology."""
    return {name: (await world.condition(name)).get("reason", "") for name in FIVE}


async def until_told(world: World, **reasons: str) -> None:
    """Wait until all reasons are AsExpected but for these."""

    async def ask() -> bool:
        return await told(world) == {**_AS_EXPECTED, **reasons}

    try:
        await polling.until(f"reasons {reasons}", ask)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{await told(world)}\n{await world.describe()}") from None


def deafen(*heard: reactors.Echo | reactors.Operands) -> None:
    """Let these neighbours ignore what a test spoils: they are simpler than the operator."""

    async def ignore(_: dict[str, Any]) -> None:
        """Hear nothing."""

    for one in heard:
        one._act = ignore  # type: ignore[method-assign, assignment]  # one instance, for one test
