"""What the cluster looks like at the change, as convergence will be measured against it.

A pool that is equal to itself, or a deployment that is ready, proves nothing unless it is known how it was before. So
everything that the convergence of a definition asks about is captured from what is watched, and what cannot be read
keeps the admission back (`admission`), by name. What the cluster does not have is recorded as missing. It lives in an
API object, and a copy of it in another, so it is small: numbers and names, at most `LARGEST` bytes.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pydantic

from topology_api.types import Baseline
from topology_api.vocabulary import CheckName, Topology

from ..checks import nodes, operands
from ..definitions import model
from ..definitions import operands as matrices
from ..observe import facts
from .state import Context

T = TypeVar("T")
Part = dict[str, Any]  # one entry of a list of the baseline, before it is checked against the schema

LARGEST = 8 * 1024  # bytes of JSON
_FOR_POOLS = 3 * 1024
_MOST_POOLS = 16
_MOST_NODES = 16
_MASTER = "master"
_MALFORMED = facts.Kind.MALFORMED
_GUARD = "PodDisruptionBudget"
REVISIONS = timedelta(minutes=3)
"""How long after an operator has observed another configuration its newest revision may still be the one before: the
first comes after 16 to 45 s, the second 20 to 36 s later (cluster-kube-apiserver-operator 9c413cd4, release-4.22). Back
and forth with 1 to 30 s between, that operator made two more revisions each time."""


def settling(context: Context, definition: model.Definition) -> dict[str, datetime]:
    """Static pods that must get another revision, and may have one in the making now; each with the time when not."""
    # Measured now, that one would count as the answer to the change although it is older, or a newer one would never
    # come. A time that is further ahead than the bound is of a clock that was wrong.
    override = context.leader.settle_seconds
    # Who shortens the settle time (tests, demos) has operators that are as quick.
    bound = REVISIONS if override is None else min(REVISIONS, timedelta(seconds=override))
    over: dict[str, datetime] = {}
    for key, pods in _revised(context, definition):
        if pods.observed_time is not None and -bound <= context.now - pods.observed_time < bound:
            over[key] = pods.observed_time + bound
    return over


def unobserved(context: Context, definition: model.Definition) -> tuple[str, ...]:
    """Static pods that must get another revision, and whose operator has not yet observed where the change starts."""
    # Were the topology changed now, it would make no newer one. Seen with cluster-kube-apiserver-operator 9c413cd4
    # (release-4.22), stopped for 16 s.
    if definition.source.control_plane is not Topology.SINGLE_REPLICA:
        return ()
    return tuple(key for key, pods in _revised(context, definition) if pods.observed_single is False)


def _revised(context: Context, definition: model.Definition) -> Iterator[tuple[str, facts.StaticPods]]:
    """The static pods that the definition waits for and that must get another revision."""
    for group in _asked(context, definition):
        for operand in group.operands:
            fact = context.known.operand(operand.key) if operand.variant is not None else None
            if isinstance(fact, facts.StaticPods) and operands.needs_revision(definition, group, operand):
                yield operand.key, fact


def _asked(context: Context, definition: model.Definition) -> list[matrices.Group]:
    """The groups of operands that the definition waits for."""
    asked = definition.convergence.asked
    return [group for group in context.transitions.matrix.groups if group.check in asked]


def capture(context: Context, definition: model.Definition) -> Baseline | tuple[facts.Unobserved, ...]:
    """Everything that the convergence of this definition is measured against, or what of it cannot be read."""
    parts, unread = _measured(context, definition)
    return tuple(dict.fromkeys(unread)) if unread else _fitting(parts)


def afterwards(context: Context, definition: model.Definition, changed: datetime) -> Baseline:
    """How the cluster was at a change that another client made then, as far as that can still be known."""
    # A configuration or a revision of now is that of the change only where its operator has not seen the change yet.
    # What may be newer is left out, and asked for its plain state (`checks.operands`): a next one may never come.
    parts, _ = _measured(context, definition)
    observed = parts.get("control_plane_observed")
    if observed is None or observed == definition.target.control_plane:
        parts |= {"control_plane_observed": None, "machine_config_pools": ()}
    parts["operands"] = tuple(
        _afterwards(context.known.operand(operand.key), operand, changed)
        for group in _asked(context, definition)
        for operand in group.operands
        if operand.kind != _GUARD
    )
    fitting = _fitting(parts)
    return fitting if isinstance(fitting, Baseline) else Baseline()


def _afterwards(fact: facts.Fact[facts.Operand], operand: matrices.Operand, changed: datetime) -> Part:
    """That this cluster has the operand; what it was like is known of static pods alone."""
    if isinstance(fact, facts.Unobserved):
        return {"name": operand.key, "missing": fact.missing and operand.optional}
    if isinstance(fact, facts.StaticPods) and fact.observed_time is not None and fact.observed_time < changed:
        return {"name": operand.key, "revision": fact.latest}
    return {"name": operand.key}


def _measured(context: Context, definition: model.Definition) -> tuple[Part, list[facts.Unobserved]]:
    """The parts of a baseline, and what cannot be read for it."""
    known, checks, groups = context.known, definition.convergence.asked, _asked(context, definition)
    absent = {group.check: operands.absence(known, group) for group in groups}
    unread = [why for why in absent.values() if isinstance(why, facts.Unobserved)]
    parts: dict[str, Any] = {"operands": []}
    version, config = known.cluster_version, known.controller_config
    if isinstance(version, facts.Unobserved):
        unread.append(version)
    else:
        parts["version"] = version.newest
    if checks & {CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT}:
        if isinstance(config, facts.Unobserved):
            unread.append(config)
        else:
            parts["control_plane_observed"] = config.control_plane
    if CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT in checks:
        parts["machine_config_pools"] = _pools(known, unread)
    if CheckName.CONTROL_PLANE_NODES in checks:
        carrying = nodes.carrying(known) or {}
        parts["control_plane_nodes"] = tuple(sorted(name for name, why in carrying.items() if not why))[:_MOST_NODES]
    for group in groups:
        parts["operands"] += _operands(known, group, unread, absent=isinstance(absent[group.check], str))
    if groups:
        # The operators that answer for these operands, with the time when each came to rest.
        wanted = {name for group in groups for name in group.operators}
        operators = [each for each in _readable(known.cluster_operators, unread) if each.name in wanted]
        parts["cluster_operators"] = tuple(
            [{"name": each.name, "settled_time": each.settled_time} for each in operators]
        )
    return parts, unread


def _readable(items: facts.Fact[tuple[facts.Fact[T], ...]], unread: list[facts.Unobserved]) -> list[T]:
    """The items of a list that could be read; what could not goes to `unread`."""
    unread += [item for item in (items if isinstance(items, tuple) else (items,)) if isinstance(item, facts.Unobserved)]
    return facts.readable(items)


def _fitting(parts: Part) -> Baseline | tuple[facts.Unobserved, ...]:
    """The baseline of these parts, if it is as the schema has it and small enough."""
    try:
        baseline = Baseline.model_validate(parts)
    except pydantic.ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        return (facts.Unobserved(f"the baseline's {where}", error.errors()[0]["msg"], _MALFORMED),)
    if len(json.dumps(baseline.to_api())) > LARGEST:
        return (facts.Unobserved("the baseline", f"would be larger than {LARGEST} bytes", _MALFORMED),)
    return baseline


def _pools(known: facts.Facts, unread: list[facts.Unobserved]) -> tuple[Part, ...]:
    """The configurations of the pools, as many as fit; that of the control plane comes first and always fits."""
    pools = sorted(_readable(known.machine_config_pools, unread), key=lambda pool: (pool.name != _MASTER, pool.name))
    if isinstance(known.machine_config_pools, facts.Unobserved):
        return ()
    master = pools[0] if pools and pools[0].name == _MASTER else None
    if master is None or not master.configuration:
        where = f"machineconfigpools.machineconfiguration.openshift.io/{_MASTER}"
        absent = facts.Unobserved(where, "NotFound: it does not exist", facts.Kind.MISSING)
        unread.append(absent if master is None else facts.Unobserved(where, "it has no rendered configuration yet"))
    kept: list[Part] = []
    left = _FOR_POOLS
    for pool in pools:
        left -= len(json.dumps(pool.name)) + len(json.dumps(pool.configuration)) + 32
        if pool is master or (left >= 0 and len(kept) < _MOST_POOLS):
            kept.append({"name": pool.name, "configuration": pool.configuration})
    return tuple(kept)


def _operands(known: facts.Facts, group: matrices.Group, unread: list[facts.Unobserved], *, absent: bool) -> list[Part]:
    """Workloads and static pods of a group. `absent`: this cluster does not have them."""
    measured: list[Part] = []
    for operand in group.operands:
        name, fact = operand.key, known.operand(operand.key)
        guard = operand.kind == _GUARD
        part: Part = {}
        match fact:
            case facts.Unobserved() if absent or (fact.missing and (operand.optional or guard)):
                # On a single node there are no guards; how many they guard is not measured against what was.
                part = {"missing": True} if fact.missing and not guard else {}
            case facts.Unobserved():
                unread.append(dataclasses.replace(fact, what=name))
            case facts.Workload():
                part = {"generation": fact.generation, "replicas": fact.wanted, "ready": fact.ready}
            case facts.StaticPods():
                part = {"revision": fact.latest}
            case facts.IngressController():
                part = {"replicas": fact.wanted_replicas, "ready": fact.available_replicas}
            case facts.DisruptionBudget():
                pass
            case _:
                unread.append(facts.Unobserved(name, f"is no {operand.kind}", _MALFORMED))
        if part:
            measured.append({"name": name, **part})
    return measured
