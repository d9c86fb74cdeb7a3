"""Machines and hosts under nodes: what becomes of them where no controller runs."""

from __future__ import annotations

from test import polling
from topology_simulator import client as clients
from topology_simulator import kinds, machine_api

NAMESPACE = machine_api.NAMESPACE
CHECK = "ControlPlaneMachines"


async def let_go(api: clients.Client, kind: kinds.Kind, name: str) -> None:
    """Take the finalizers away: what is being deleted is gone."""
    await api.patch(kind, name, {"metadata": {"finalizers": None}}, NAMESPACE)


async def withdraw(api: clients.Client, *withdrawn: kinds.Kind) -> None:
    """Let the server know these kinds no more, as where the capability is disabled."""
    for kind in withdrawn:
        await api.delete(kinds.DEFINITIONS, f"{kind.plural}.{kind.group}")

        async def unknown(kind: kinds.Kind = kind) -> bool:
            try:
                await api.list(kind)
            except clients.ApiError as error:
                return error.code == 404
            return False

        await polling.until(f"{kind.plural} are not served", unknown)
