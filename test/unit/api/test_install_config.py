"""What the installer makes of an install-config: the whole truth table of the reference, its defaults, its refusals."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api import shape
from topology_api.shape import Vector
from topology_controller.definitions import read
from topology_deploy import install_config
from topology_deploy.install_config import Rule

SINGLE, HA, DUAL, ARBITER = "SingleReplica", "HighlyAvailable", "DualReplica", "HighlyAvailableArbiter"

# The table of the reference (B.3), row for row: control planes, arbiters, workers; control plane and infrastructure by
# the released rule; mastersSchedulable; the same two by the proposed rule. 4 and 5 control planes are "as row 3".
THREE = [
    (0, 0, HA, HA, True, HA, HA),
    (0, 1, HA, SINGLE, False, HA, HA),
    (0, 2, HA, HA, False, HA, HA),
    (1, 0, HA, HA, True, ARBITER, HA),
    (1, 1, HA, SINGLE, False, ARBITER, HA),
    (1, 2, HA, HA, False, ARBITER, HA),
]
TABLE = [
    (1, 0, 0, SINGLE, SINGLE, True, SINGLE, SINGLE),
    (1, 0, 1, SINGLE, SINGLE, False, SINGLE, HA),
    (1, 0, 2, SINGLE, HA, False, SINGLE, HA),
    (2, 0, 0, DUAL, HA, True, DUAL, HA),
    (2, 0, 1, DUAL, SINGLE, False, DUAL, HA),
    (2, 0, 2, DUAL, HA, False, DUAL, HA),
    (2, 1, 0, ARBITER, HA, True, ARBITER, HA),
    (2, 1, 1, ARBITER, SINGLE, False, ARBITER, HA),
    (2, 1, 2, ARBITER, HA, False, ARBITER, HA),
    *((three, *row) for three in (3, 4, 5) for row in THREE),
]
# ">=2" and ">=1" of the reference: more of the same changes nothing.
GROWN: list[tuple[Any, ...]] = [
    (cp, a + more_a, w + more_w, *rest)
    for (cp, a, w, *rest), more_a, more_w in itertools.product(TABLE, (0, 1, 4), (0, 1, 5, 2000))
    if (a or not more_a) and (w >= 2 or not more_w)
]


def pool(name: object, replicas: object = None) -> dict[str, Any]:
    return {"name": name, "replicas": replicas}


def config(
    control_plane: object = None, compute: Any = None, arbiter: Any = None, fencing: int = 0, platform: Any = None,
    *, hosts: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """An install-config; what is None or 0 is not in it."""
    credentials: dict[str, Any] = {"fencing": {"credentials": [{}] * fencing}} if fencing else {}
    there = {"compute": compute, "arbiter": arbiter, "platform": platform and {platform: {"hosts": [{}] * hosts}}}
    found = {key: value for key, value in there.items() if value is not None}
    return {"controlPlane": {"replicas": control_plane, **credentials}, **found}


def written(cp: int, arbiters: int, workers: int) -> dict[str, Any]:
    """An install-config that says all three numbers, and what the installer wants to see besides."""
    arbiter = pool("arbiter", arbiters) if arbiters else None
    return config(cp, [pool("worker", workers)], arbiter, 2 if cp == 2 and not arbiters else 0, "baremetal")


def test_the_truth_table():
    for cp, arbiters, workers, *expected in GROWN:
        machines = install_config.machines(written(cp, arbiters, workers))
        assert (machines.control_plane, machines.arbiters, machines.workers) == (cp, arbiters, workers)
        released, proposed = (install_config.outcome(machines, rule) for rule in (Rule.RELEASED, Rule.PROPOSED))
        assert [
            released.control_plane, released.infrastructure, released.masters_schedulable,
            proposed.control_plane, proposed.infrastructure,
        ] == expected, machines  # fmt: skip
        assert proposed.masters_schedulable is released.masters_schedulable
        vector = Vector(
            released.control_plane, released.infrastructure, released.masters_schedulable, cp, arbiters, workers
        )
        assert released.shape is shape.classify(vector), machines


# B.1: what is not there is not zero.
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (config(), (3, 0, 3)),
        (config(compute=[]), (3, 0, 3)),
        (config(compute=[pool("worker")]), (3, 0, 3)),
        (config(compute=[pool("worker", 0)]), (3, 0, 0)),
        (config(control_plane=1, compute=[pool("worker", 0)]), (1, 0, 0)),
        (config(compute=[pool("edge", 2)], platform="aws"), (3, 0, 5)),
        (config(compute=[pool("worker", 0), pool("edge")], platform="aws"), (3, 0, 0)),
        (config(compute=[pool("worker"), pool("edge", 4)], platform="aws"), (3, 0, 7)),
        (config(arbiter=pool("arbiter", 1), platform="none"), (3, 1, 3)),
        (config(arbiter=pool(None, 1), platform="none"), (3, 1, 3)),
    ],
)
def test_defaults(given, expected):
    found = install_config.machines(given)
    assert (found.control_plane, found.arbiters, found.workers) == expected


NUMBER = "a whole number, 0 or more"
CONTROL_PLANES = "1, 3, 4 or 5; 2 with an arbiter or with fencing"


@pytest.mark.parametrize(
    ("given", "field", "found", "wanted"),
    [
        (config(control_plane=-1), "controlPlane.replicas", "-1", NUMBER),
        (config(control_plane=True), "controlPlane.replicas", "true", NUMBER),
        (config(control_plane=10**5000), "controlPlane.replicas", "a number of more than 18 digits", NUMBER),
        (config(control_plane=0), "controlPlane.replicas", "0", CONTROL_PLANES),
        (config(compute=[pool("worker", "x" * 90)]), "compute[0].replicas", "'" + "x" * 60 + "...'", NUMBER),
        (config(compute=[pool("infra", 1)]), "compute[0].name", "'infra'", "worker or edge"),
        (
            config(compute=[pool("worker", 2), pool("worker", 2)]),
            "compute[1].name", "'worker' again, as in compute[0]", "each pool once",
        ),
        (
            config(compute=[pool("worker", 2), pool("edge", 2)], platform="none"),
            "compute[1].name", "'edge'", "worker; a pool edge is for platform aws",
        ),
        (
            config(compute=[pool("worker", 2), pool("arbiter", 1)]),
            "compute[1].name", "'arbiter'", "worker or edge; an arbiter has its own key, arbiter, beside compute",
        ),
        (
            config(arbiter=pool("arbiter"), platform="none"),
            "arbiter.replicas", "nothing, which means 0", "1 or more, or no arbiter at all",
        ),
        (config(arbiter=pool("worker", 1), platform="none"), "arbiter.name", "'worker'", "arbiter"),
        (
            config(control_plane=1, arbiter=pool("arbiter", 1), platform="none"),
            "controlPlane.replicas", "1", "2 or more where there is an arbiter",
        ),
        (
            config(arbiter=pool("arbiter", 1), platform="aws"),
            "platform", "'aws'", "baremetal or none where there is an arbiter",
        ),
        (
            config(control_plane=2, fencing=1, platform="none"),
            "controlPlane.replicas", "2 without an arbiter, number of fencing credentials: 1",
            "1, 3, 4 or 5; or 2 and an arbiter, or 2 and controlPlane.fencing.credentials for both",
        ),
        (
            config(control_plane=2, fencing=2, platform="vsphere"),
            "platform", "'vsphere'", "baremetal or none where there are fencing credentials",
        ),
        (
            config(control_plane=2, fencing=2, platform="baremetal", hosts=True),
            "platform.baremetal.hosts", "hosts beside controlPlane.fencing.credentials", "one of the two",
        ),
    ],
)  # fmt: skip
def test_a_contradiction_names_field_found_and_wanted(given, field, found, wanted):
    with pytest.raises(install_config.ContradictionError) as caught:
        install_config.machines(given)
    ((place, why),) = caught.value.wrong.items()
    assert (read.spell(place), why) == (field, f"{field}: found {found}; wanted {wanted}")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (written(3, 0, 2), []),
        (written(2, 0, 0), []),
        (written(3, 0, 1), ["assisted installer"]),
        (written(1, 0, 2), ["assisted installer", "agent-based installer"]),
        (config(fencing=2, platform="none"), ["Fencing credentials"]),
        (config(control_plane=2, fencing=2, arbiter=pool("arbiter", 1), platform="none"), ["Fencing"]),
    ],
)
def test_what_surprises_people_is_noted(given, words):
    told = install_config.notes(install_config.machines(given))
    assert len(told) == len(words)
    for note, word in zip(told, words, strict=True):
        assert word in note


COUNT = st.integers(-2, 8) | st.none() | st.just(2.5) | st.just("3") | st.booleans()
POOLS = st.lists(st.builds(pool, st.sampled_from(("worker", "edge", "arbiter", None)), COUNT), max_size=3)
ANY = st.builds(
    config,
    control_plane=COUNT,
    compute=POOLS | st.none(),
    arbiter=st.builds(pool, st.sampled_from(("arbiter", None, "worker")), COUNT) | st.none(),
    fencing=st.integers(0, 3),
    platform=st.sampled_from(("aws", "baremetal", "none", None)),
    hosts=st.booleans(),
)


@given(ANY)
def test_every_install_config_is_refused_with_reasons_or_has_an_answer_in_both_rules(given):
    wrong: Any = None
    try:
        machines = install_config.machines(given)
    except install_config.ContradictionError as error:
        wrong = error.wrong
    if wrong is not None:
        assert wrong
        assert all(field and ": found " in why for field, why in wrong.items())
        return
    assert machines.control_plane in {1, 2, 3, 4, 5}
    assert machines.workers == sum(one.replicas for one in machines.counts if one.pool in {"worker", "edge"})
    outcomes = {rule: install_config.outcome(machines, rule) for rule in Rule}
    for found in outcomes.values():
        assert found.infrastructure in {SINGLE, HA}, "the API has no other value for it"
        assert found.masters_schedulable is (machines.workers == 0)
    differs = machines.workers == 1 or (machines.control_plane >= 3 and machines.arbiters > 0)
    assert bool(install_config.differences(machines)) is differs
    assert (outcomes[Rule.RELEASED] != outcomes[Rule.PROPOSED]) is differs
