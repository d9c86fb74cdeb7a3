"""What a configuration may say, what becomes of the definitions by it, and what each mistake is answered with."""

from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test.unit.configuration.files import HEAD, NAMES, TRANSITIONS

from topology_api.vocabulary import CheckName
from topology_controller import logs
from topology_controller.definitions import read, settings

PLACE = pathlib.Path("/etc/x/config.yaml")
COMPACT = "sno-to-ha-compact"


def good(body: str) -> settings.Configuration:
    return settings.load(PLACE, (HEAD + body).encode(), NAMES)


def refused(text: str | bytes) -> read.DefinitionError:
    with pytest.raises(read.DefinitionError) as caught:
        settings.load(PLACE, text if isinstance(text, bytes) else text.encode(), NAMES)
    assert caught.value.problems
    return caught.value


def complaints(text: str | bytes) -> list[str]:
    return [str(problem) for problem in refused(text).problems]


# -- what may be said


def test_no_file_is_the_defaults_and_changes_no_definition():
    assert settings.load(PLACE, None, NAMES) == settings.DEFAULTS
    assert settings.applied(TRANSITIONS, settings.DEFAULTS) is TRANSITIONS
    assert settings.applied(TRANSITIONS, good("")) is TRANSITIONS, "nor does one that only says what it is"
    for level in logs.LEVELS:
        assert good(f"logLevel: {level}\n").log_level == level


def test_the_transitions_own_figure_wins_over_the_global_one_and_that_over_the_definition():
    own = f"transitions:\n  {COMPACT}: {{deadlineMinutes: 120}}\n  infra-to-ha: {{settleSeconds: 7}}\n"
    found = settings.applied(TRANSITIONS, good(f"settleSeconds: 90\n{own}"))
    for before in TRANSITIONS.definitions:
        after = found.named(before.name)
        assert after is not None
        convergence = after.convergence
        assert convergence.settle_seconds == (7 if before.name == "infra-to-ha" else 90)
        assert convergence.deadline_minutes == (120 if before.name == COMPACT else before.convergence.deadline_minutes)
        assert after.preflight == before.preflight
        assert convergence.checks == before.convergence.checks
    assert found.matrix is TRANSITIONS.matrix


@pytest.mark.parametrize(
    ("written", "cpus", "gib"),
    [
        ("{cpu: 8, memory: 32Gi}", 8, 32),
        ("{cpu: 3500m, memory: 14848Mi}", 3.5, 14.5),
        ('{cpu: "2.5"}', 2.5, None),
        ("{memory: 17179869184}", None, 16),
        ("{memory: 17179869184000m}", None, 16),
        ("{}", None, None),
    ],
)
def test_minimum_node_resources_are_asked_before_and_after_the_change_of_every_transition(written, cpus, gib):
    found = settings.applied(TRANSITIONS, good(f"minimumNodeResources: {written}\n"))
    asked = [
        spec
        for one in found.definitions
        for specs in one.stages.values()
        for spec in specs
        if spec.check is CheckName.CONTROL_PLANE_NODES
    ]
    assert asked
    assert {(spec.min_cpus, spec.min_memory_gib) for spec in asked} == {(cpus, gib)}
    for before, after in zip(TRANSITIONS.definitions, found.definitions, strict=True):
        for stage, specs in before.stages.items():
            assert [spec.check for spec in specs] == [spec.check for spec in after.stages[stage]], "nothing is left out"
            assert [spec.at_least for spec in specs] == [spec.at_least for spec in after.stages[stage]]


BALANCER, ROUTER = CheckName.LOAD_BALANCER_BACKENDS, CheckName.ROUTER_SURVIVES_DRAINS


@pytest.mark.parametrize(
    ("body", "checks"),
    [
        ("requireLoadBalancerBackends: true\n", [BALANCER]),
        ("requireLoadBalancerBackends: true\nrequireRouterSurvivesDrains: true\n", [BALANCER, ROUTER]),
        ("requireLoadBalancerBackends: false\nrequireRouterSurvivesDrains: false\n", []),
    ],
)
def test_what_is_required_is_asked_once_where_the_control_plane_changes(body, checks):
    found = settings.applied(TRANSITIONS, good(body))
    for before in TRANSITIONS.definitions:
        after = found.named(before.name)
        assert after is not None
        added = [] if before.name == "infra-to-ha" else checks
        assert [spec.check for spec in after.preflight] == [*(spec.check for spec in before.preflight), *added]
        assert after.convergence == before.convergence
    assert settings.applied(found, good(body)) == found, "it is asked once"


# -- what is answered to a mistake


@pytest.mark.parametrize(
    ("body", "line", "parts"),
    [
        ("logLevel: Debug\n", 3, ["logLevel is 'Debug'", "allowed: error, warning, info, debug", "'debug'?"]),
        ("settleSeconds: soon\n", 3, ["settleSeconds is 'soon'", "integer"]),
        ("settleSeconds: 0\n", 3, ["settleSeconds is 0", "greater than or equal to 1"]),
        ("deadlineMinutes: 100000\n", 3, ["deadlineMinutes is 100000", "less than or equal to 1440"]),
        ("\n\nminimumNodeResources:\n  memory: 1Gi\n", 6, ["minimumNodeResources.memory: '1Gi'", "4Gi to 65536Gi"]),
        ("minimumNodeResources: {cpu: lots}\n", 3, ["minimumNodeResources.cpu: 'lots'", "such as 4 or 3500m"]),
        ("minimumNodeResources: {cpu: 1m}\n", 3, ["'1m' is out of bounds", "from 1 to 1024"]),
        ("minimumNodeResources: {cpu: yes}\n", 3, ["'yes' reads as bool", "true or false"]),
        ("transitions:\n  sno-to-ha-compac: {settleSeconds: 1}\n", 4, ["'sno-to-ha-compac'", f"mean '{COMPACT}'?"]),
        (f"transitions:\n  {COMPACT}: {{settle: 1}}\n", 4, ["unknown key 'settle'", "deadlineMinutes, settleSeconds"]),
        ('requireLoadBalancerBackends: "yes"\n', 3, ["requireLoadBalancerBackends is 'yes'", "boolean"]),
        ("transitions: [a]\n", 3, ["transitions is a list"]),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_file_line_what_was_found_and_what_is_wanted(body, line, parts):
    (told,) = complaints(HEAD + body)
    assert told.startswith(f"{PLACE}:{line}: ")
    for part in parts:
        assert part in told


@pytest.mark.parametrize(
    "key",
    [
        "disabledChecks", "disableChecks", "skipChecks", "skip", "ignoreChecks", "checks", "preflight", "convergence",
        "excludedChecks", "acceptedChecks", "force", "allowUnsafe", "EtcdHealthy", "RouterReplicas", "skip_preflight",
        "bypass", "omit-checks",
    ],
)  # fmt: skip
@pytest.mark.parametrize("above", ["", f"transitions:\n  {COMPACT}:\n    "])
def test_no_key_turns_a_check_off(key, above):
    (told,) = complaints(f"{HEAD}{above}{key}: [EtcdHealthy]\n")
    assert told.startswith(f"{PLACE}:{5 if above else 3}: unknown key {key!r}")
    assert "; allowed: " in told


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("kind: TopologyOperatorConfig\n", "key apiVersion is missing"),
        ("apiVersion: topology.openshift.io/v1\n", "key kind is missing"),
        ("apiVersion: topology.openshift.io/v2\nkind: TopologyOperatorConfig\n", "allowed: topology.openshift.io/v1"),
        ("apiVersion: topology.openshift.io/v1\nkind: ConfigMap\n", "allowed: TopologyOperatorConfig"),
        (HEAD + "#" * 70_000, "is larger than 16384 bytes"),
        (HEAD + "settleSeconds: 0x" + "f" * 10_000, "too many digits"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(text, part):
    assert any(part in told for told in complaints(text))


def test_several_mistakes_are_told_in_the_order_of_the_lines_and_their_number_is_bounded():
    body = "settleSeconds: x\ndeadlineMinutes: y\nlogLevel: z\nwhat: 1\nelse: 2\n"
    error = refused(HEAD + body)
    assert [problem.line for problem in error.problems] == [3, 4, 5, 6, 7]
    first = settings.complaints(error)
    assert [one.startswith(str(PLACE)) for one in first] == [True, True, True, False]
    assert first[-1] == "and 2 more"


@given(
    settle=st.none() | st.integers(1, 3600),
    deadline=st.none() | st.integers(1, 1440),
    cpu=st.none() | st.integers(1, 1024),
    gib=st.none() | st.integers(4, 65536),
)
def test_whatever_is_configured_every_definition_stays_one_that_would_be_accepted(settle, deadline, cpu, gib):
    lines = [f"settleSeconds: {settle}"] if settle is not None else []
    lines += [f"deadlineMinutes: {deadline}"] if deadline is not None else []
    lines += ["minimumNodeResources:"] if cpu or gib else []
    lines += [f"  cpu: {cpu}"] if cpu else []
    lines += [f"  memory: {gib}Gi"] if gib else []
    for one in settings.applied(TRANSITIONS, good("\n".join(lines) + "\n")).definitions:
        again = type(one).model_validate_json(one.model_dump_json(by_alias=True, exclude_none=True))
        assert again == one
