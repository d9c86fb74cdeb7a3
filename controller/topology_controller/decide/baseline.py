"""What the cluster looks like at the change, as convergence will be measured against it.

A pool that is equal to itself, or a deployment that is ready, proves nothing unless it is known how it was before. So
everything that the convergence of a definition asks about is captured from what is watched, and what cannot be read
keeps the admission back (`admission`), by name. What the cluster does not have, because a capability is off, because
its operator was told to remove it, or because the matrix calls it optional, is recorded as missing.

It lives in an API object, and a copy of it in another, so it is small: numbers and names, no conditions, and never more
than `LARGEST` bytes of JSON.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic

from topology_api.types import Baseline
from topology_api.vocabulary import CheckName

from ..checks import operands, result
from ..observe import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..definitions import model
    from ..definitions import operands as matrices

Part = dict[str, Any]
"""One entry of a list of the baseline, before it is checked against the schema."""

LARGEST = 8 * 1024
"""Bytes of JSON."""
_FOR_POOLS = 3 * 1024
_MOST_POOLS = 16
_MASTER = "master"
_VERSION = "clusterversions.config.openshift.io/version"


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """What convergence would be measured against and cannot be read. `what` is never empty."""

    what: tuple[facts.Unobserved, ...]

    def __str__(self) -> str:
        return result.listed(str(one) for one in self.what)


def capture(known: facts.Facts, definition: model.Definition, matrix: matrices.Matrix) -> Baseline | Unmeasured:
    """Everything that the convergence of this definition is measured against, or what of it cannot be read."""
    seen = _Seen(known, definition, matrix)
    captured = {
        "version": seen.version(),
        "control_plane_observed": seen.control_plane(),
        "machine_config_pools": seen.pools(),
        "operands": seen.operands(),
        "cluster_operators": seen.operators(),
    }
    if seen.unread:
        return Unmeasured(tuple(dict.fromkeys(seen.unread)))
    try:
        baseline = Baseline.model_validate(captured)
    except pydantic.ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        return Unmeasured((facts.Unobserved(f"the baseline's {where}", error.errors()[0]["msg"], malformed=True),))
    size = len(json.dumps(baseline.to_api()))
    if size > LARGEST:
        return Unmeasured((facts.Unobserved("the baseline", f"would be larger than {LARGEST} bytes", malformed=True),))
    return baseline


class _Seen:
    """Collects one part of the baseline after the other, and in `unread` what stood in the way."""

    def __init__(self, known: facts.Facts, definition: model.Definition, matrix: matrices.Matrix) -> None:
        self._known = known
        self._asked = frozenset(spec.check for spec in definition.convergence.checks)
        self._groups = tuple(group for group in matrix.groups if group.check in self._asked)
        self._absent = {group.check: operands.absence(known, group) for group in self._groups}
        self.unread = [why for why in self._absent.values() if isinstance(why, facts.Unobserved)]

    def version(self) -> str | None:
        """The newest version in the history of ClusterVersion."""
        found = self._known.cluster_version
        if isinstance(found, facts.Unobserved):
            self.unread.append(dataclasses.replace(found, what=_VERSION))
            return None
        return found.newest

    def control_plane(self) -> str | None:
        """The topology that machine configs are made for."""
        if not self._asked & {CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED, CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT}:
            return None
        found = self._known.controller_config
        if isinstance(found, facts.Unobserved):
            self.unread.append(found)
            return None
        return found.control_plane

    def pools(self) -> tuple[Part, ...]:
        """The configurations of the pools, as many as fit; that of the control plane comes first and always fits."""
        if CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT not in self._asked:
            return ()
        found = self._known.machine_config_pools
        if isinstance(found, facts.Unobserved):
            self.unread.append(found)
            return ()
        self.unread += [pool for pool in found if isinstance(pool, facts.Unobserved)]
        pools = [pool for pool in found if isinstance(pool, facts.MachineConfigPool)]
        master = next((pool for pool in pools if pool.name == _MASTER), None)
        if master is None or not master.configuration:
            why = "NotFound: it does not exist" if master is None else "it has no rendered configuration yet"
            where = f"machineconfigpools.machineconfiguration.openshift.io/{_MASTER}"
            self.unread.append(facts.Unobserved(where, why, missing=master is None))
        kept: list[Part] = []
        room = _FOR_POOLS
        for pool in sorted(pools, key=lambda one: (one.name != _MASTER, one.name)):
            room -= len(json.dumps(pool.name)) + len(json.dumps(pool.configuration)) + 32
            if pool.name == _MASTER or (room >= 0 and len(kept) < _MOST_POOLS):
                kept.append({"name": pool.name, "configuration": pool.configuration})
        return tuple(kept)

    def operands(self) -> tuple[Part, ...]:
        """Workloads and static pods of every group that is asked about."""
        return tuple(one for group in self._groups for one in self._of(group))

    def _of(self, group: matrices.Group) -> Iterator[Part]:
        absent = isinstance(self._absent[group.check], str)
        for operand in group.operands:
            found = self._known.operand(operand.key)
            if isinstance(found, facts.Etcd):
                found = found.static_pods or facts.Unobserved(operand.key, "its static pods were not read")
            guard = operand.kind == "PodDisruptionBudget"
            if isinstance(found, facts.Unobserved) and (absent or (found.missing and (operand.optional or guard))):
                # On a single node there are no guards; how many they guard is not measured against what was.
                if found.missing and not guard:
                    yield {"name": operand.key, "missing": True}
            elif isinstance(found, facts.Unobserved):
                self.unread.append(dataclasses.replace(found, what=operand.key))
            else:
                yield from self._one(operand, found)

    def _one(self, operand: matrices.Operand, found: object) -> Iterator[Part]:
        name = operand.key
        if isinstance(found, facts.Workload):
            yield {"name": name, "generation": found.generation, "replicas": found.wanted, "ready": found.ready}
        elif isinstance(found, facts.StaticPods):
            yield {"name": name, "revision": found.latest}
        elif isinstance(found, facts.IngressController):
            yield {"name": name, "replicas": found.wanted_replicas, "ready": found.available_replicas}
        elif not isinstance(found, facts.DisruptionBudget):
            self.unread.append(facts.Unobserved(name, f"is no {operand.kind}", malformed=True))

    def operators(self) -> tuple[Part, ...]:
        """The operators that answer for these operands, with the time when each came to rest."""
        if not self._groups:
            return ()
        found = self._known.cluster_operators
        if isinstance(found, facts.Unobserved):
            self.unread.append(found)
            return ()
        self.unread += [one for one in found if isinstance(one, facts.Unobserved)]
        wanted = {name for group in self._groups for name in group.operators}
        return tuple(
            {"name": one.name, "settled_time": one.settled_time}
            for one in found
            if isinstance(one, facts.ClusterOperator) and one.name in wanted
        )
