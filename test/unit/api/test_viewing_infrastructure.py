"""What another operator makes of Infrastructure: only what it knows for certain gives it a reason to act."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test import processes

from topology_api import view
from topology_api.vocabulary import EXTERNAL, Phase, Topology

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([*Topology, *Phase]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["status", "controlPlaneTopology", "infrastructureTopology", "topologyTransition", "phase", "other"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def infrastructure(status: object) -> dict[str, object]:
    return {"kind": "Infrastructure", "metadata": {"name": "cluster"}, "status": status}


@pytest.mark.parametrize(
    ("topology", "several"),
    [
        ("SingleReplica", False),
        ("HighlyAvailable", True),
        ("HighlyAvailableArbiter", True),
        ("DualReplica", True),
        (EXTERNAL, None),
        ("Quintuple", None),
        ("", None),
        (None, None),
    ],
)
def test_what_a_topology_implies(topology, several):
    assert view.several(topology) is several


def test_both_topologies_and_the_phase_are_read():
    status = {
        "controlPlaneTopology": "HighlyAvailable",
        "infrastructureTopology": "SingleReplica",
        "topologyTransition": {"phase": "Converging"},
    }
    found = view.parse(infrastructure(status))
    assert found == view.View("HighlyAvailable", "SingleReplica", Phase.CONVERGING)
    assert (found.control_plane_several, found.infrastructure_several, found.converging) == (True, False, True)


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"kind": "Infrastructure", "metadata": {"name": "other"}}, "found Infrastructure other"),
        ({"kind": "Node", "metadata": {"name": "cluster"}}, "found Node cluster"),
        ([], "found no kind without a name"),
    ],
)
def test_another_object_is_refused_and_named(obj, message):
    with pytest.raises(view.NotInfrastructureError, match=message):
        view.parse(obj)


STATUS = st.fixed_dictionaries(
    {},
    optional={
        "controlPlaneTopology": JSON,
        "infrastructureTopology": JSON,
        "topologyTransition": st.fixed_dictionaries({}, optional={"phase": JSON}) | JSON,
    },
)


def text_at(value: object, *path: str) -> str | None:
    """The text that stands there; None where there is none, an empty one, or anything else."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value != "" else None


@given(STATUS | JSON)
def test_whatever_stands_in_status_it_is_read_or_counts_as_missing(status):
    found = view.parse(infrastructure(status))
    assert found.control_plane == text_at(status, "controlPlaneTopology")
    assert found.infrastructure == text_at(status, "infrastructureTopology")
    phase = text_at(status, "topologyTransition", "phase")
    assert found.phase == (phase if phase in list(Phase) else None)


def test_it_needs_nothing_but_the_standard_library():
    program = (
        "import sys; from topology_api import view; print(*sorted({'pydantic','aiohttp','yaml'} & set(sys.modules)))"
    )
    assert processes.python("-c", program) == (0, "\n", "")
