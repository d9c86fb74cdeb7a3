"""What Infrastructure `cluster` means to a roll-out: where a cluster can be, and who is asked first.

An engine sees one object and knows nothing of topologies. Here are the expressions by which three of them find the
state: CEL for the work agent and for Flux, a Go template for the policy; Argo CD's Lua is bindata/fleet/health.lua. All
are held to a table of recorded objects (test/unit/fleet/verdicts.yaml): who changes one changes all. The first test
that holds decides. A cluster without a record is neither done nor failed, and a record that answers an older request
says nothing about the newest. For Argo CD and Flux, where nothing is requested all is Ready.

No expression ends with an error where something is missing: one engine takes an error for success (open-cluster-
management.io/ocm v1.2.0 pkg/work/spoke/conditions/reader.go). The CEL uses optional values; the template needs `dig`,
`kindIs`, `toString` and `int64` of sprig, which config-policy-controller allows.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from .. import manifests

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from topology_api.types import TopologyPair


SURVEY: Final = "topology-survey"
"""Name of the ManifestWork that says where a cluster is, in the namespace of each cluster on the hub."""
STATE_CONDITION: Final = "Ready"
"""Condition of the survey: its message begins with the name of the state."""


class State(StrEnum):
    """Where a cluster is in a roll-out."""

    NOT_FOR_US = "NotForUs"
    """The topology of this cluster is decided elsewhere: a hosted control plane, or an image-based install."""
    SILENT = "Silent"
    """No request and no record: the operator or its fields are not installed, or it does not act on this cluster."""
    NOT_READY = "NotReady"
    """No request, and preflight checks are not met."""
    READY = "Ready"
    """No request, and all preflight checks are met: it can be asked."""
    UNDER_WAY = "UnderWay"
    """Requested, and not done yet; also when no operator has answered so far."""
    NEEDS_A_PERSON = "NeedsAPerson"
    """The operator reports a problem, or cannot fulfil the request. Nothing was rolled back."""
    DONE = "Done"
    """The cluster has the topology, and all of it has followed."""


Tests: TypeAlias = tuple[tuple[State, str], ...]
"""The state of an object for which this is the first test that holds. Without one it is under way."""

DESIRED = "object.?spec.?desiredTopology"
RECORD = "object.?status.?topologyTransition"
PHASE = f'{RECORD}.?phase.orValue("")'
_WANTED = f'{DESIRED}.orValue("")'
_CONTROL_PLANE = 'object.?status.?controlPlaneTopology.orValue("")'
_INFRASTRUCTURE = 'object.?status.?infrastructureTopology.orValue("")'
_LABEL = 'object.?metadata.?labels[?"topology.openshift.io/image-based-install"]'
_ELSEWHERE = f'{_CONTROL_PLANE} == "External" || ({_LABEL}.hasValue() && {_LABEL}.orValue("") != "false")'
_OLDER = f"!({RECORD}.?observedGeneration.orValue(0) >= object.?metadata.?generation.orValue(0))"
_AT_REST = f'({PHASE} == "Idle" || {PHASE} == "Completed") && !{RECORD}.?problem.hasValue()'
# Idle beside a request that it has seen: the operator does not act on this cluster, and says why.
_REFUSED = f'{RECORD}.?problem.hasValue() || {PHASE} == "Unsupported" || {PHASE} == "Idle"'


def work(target: TopologyPair, names: Sequence[str]) -> Tests:
    """Where is a cluster in a roll-out of `target` by the definitions of these names?"""
    # A request that equals the topology of the control plane, and is not the target, wants nothing: the API knows no
    # other way to cancel a request by writing it.
    asked = f'{_WANTED} == "{target.control_plane}"'
    has_it = f'{_CONTROL_PLANE} == "{target.control_plane}" && {_INFRASTRUCTURE} == "{target.infrastructure}"'
    cancelled = f'({_WANTED} != "{target.control_plane}" && {_WANTED} == {_CONTROL_PLANE})'
    quiet = f"(!{DESIRED}.hasValue() || {cancelled}) && {_AT_REST}"
    # Others that lead there have another source, to which no step of the roll-out would take a request back.
    named = f'entry.?name.orValue("") in {json.dumps(names)}'
    ready = f"{RECORD}.?available.orValue([]).exists(entry, {named} && entry.?available == optional.of(true))"
    return (
        (State.NOT_FOR_US, _ELSEWHERE),
        (State.UNDER_WAY, f"!{RECORD}.hasValue() && {asked}"),
        (State.SILENT, f"!{RECORD}.hasValue()"),
        (State.DONE, f"{quiet} && {has_it}"),
        (State.READY, f"{quiet} && {ready}"),
        (State.NOT_READY, quiet),
        (State.UNDER_WAY, _OLDER),
        (State.DONE, f"{_AT_REST} && {asked} && {has_it}"),
        (State.NEEDS_A_PERSON, _REFUSED),
    )


_ANY_REQUEST: Tests = (
    (State.NOT_FOR_US, _ELSEWHERE),
    (State.UNDER_WAY, f"!{RECORD}.hasValue() && {DESIRED}.hasValue()"),
    (State.SILENT, f"!{RECORD}.hasValue()"),
    (State.READY, f"!{DESIRED}.hasValue() && {_AT_REST}"),
    (State.UNDER_WAY, _OLDER),
    (State.DONE, f"{_AT_REST} && {DESIRED}.hasValue() && {_WANTED} == {_CONTROL_PLANE}"),
    (State.NEEDS_A_PERSON, _REFUSED),
)


def flux(values: Mapping[State, str]) -> str:
    """Does the cluster have what it requests? For Flux, where each field at the top is a variable."""
    return choice(_ANY_REQUEST, {**dict.fromkeys(State, "false"), **values}).replace("object.?", "")


def holds(tests: Tests, states: Container[State]) -> str:
    """Return an expression that is true where an object is in one of these states."""
    return choice(tests, {state: "true" if state in states else "false" for state in State})


def choice(tests: Tests, values: Mapping[State, str]) -> str:
    """Return an expression, a line for each test, whose value depends on the state. `values` are of one type."""
    last = values[State.UNDER_WAY]
    lines = [(test, values[state]) for state, test in tests]
    # The last tests change nothing where they come to the same value as no test.
    while lines and lines[-1][1] == last:
        lines.pop()
    return "".join(f"{test} ? {value} :\n" for test, value in lines) + last


def template(target: TopologyPair, names: Sequence[str]) -> str:
    """The same as `work`: sets `$state`, prints nothing, and reads `$infrastructure`."""
    # As `work`, but with the last test first: each one that holds overrides those above it, which needs no nesting.
    desired, current = "(toString $desiredTopology)", "(toString $controlPlaneTopology)"
    rests = '(or (eq (toString $phase) "Idle") (eq (toString $phase) "Completed")) (kindIs "invalid" $problem)'
    cancelled = f'(and (ne {desired} "{target.control_plane}") (eq {desired} {current}))'
    return manifests.filled(
        "fleet/templates/state.gotmpl",
        QUIET=f'(or (kindIs "invalid" $desiredTopology) {cancelled}) {rests}',
        AT_REST=rests,
        HAS_IT=f'(eq {current} "{target.control_plane}") '
        f'(eq (toString $infrastructureTopology) "{target.infrastructure}")',
        NAMED=f'(eq (toString (dig "name" nil .)) {" ".join(map(json.dumps, names))})',
        CONTROL_PLANE=target.control_plane,
    ).rstrip("\n")
