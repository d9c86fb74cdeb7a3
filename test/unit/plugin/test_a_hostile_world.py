"""Whatever a cluster says, in every command that is shown to be pasted it stays within quotes.

Any text of a cluster becomes hostile (names, addresses, versions, messages, topologies), the same everywhere in one
world. Then everything is decided, shown and printed, and each text is read as a shell reads it.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from kubectl_topology import capi, cluster, errors, naming, write
from kubectl_topology.commands import accept
from topology_api.vocabulary import AdvisoryName, Phase
from topology_controller.checks import advisories
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import facts
from topology_controller.serve import authn

from ..core import machine_worlds, page_state, strategies, worlds
from . import replies

MARK = "pwned"
EVIL = (
    f"x;{MARK}#", f"$({MARK})", f"`{MARK}`", f"x|{MARK}", f"x&{MARK}", f">{MARK}", f"'{MARK};", f'"$({MARK})"',
    f"x\n{MARK}\n", f"\x1b]0;{MARK}\x07", f"\u202e;{MARK}\u2066", f"a '{MARK}' b", f"-{MARK};", f"fe80::1%;{MARK}|sh;#",
    f"fe80::9%$({MARK})", f"x' ;{MARK}; 'y", f'x" ;{MARK}; "y', f"\\';{MARK}",
)  # fmt: skip
"""Outside quotes each of them brings MARK, an open quote, or a letter that a shell obeys."""
CALLERS = (naming.Caller(), naming.Caller("kubectl topology", "kubectl"))
_BEGIN = re.compile(r"(?<![\w/.-])(?:oc|kubectl(?:-topology)?)(?= [-a-z'\"])")
_END = re.compile(r"[.,;:)`](?=\s|\Z)|\n")
_PIPES = (f" | jq  | {client} replace --subresource=status -f -" for client in ("oc", "kubectl"))
_OURS = ('"$(date -u +%Y-%m-%dT%H:%M:%SZ)"', " && ", *_PIPES, "`")
"""What a command of ours lets a shell do, and what may stand around one in a sentence."""


def _outside(text: str, place: int, ends: re.Pattern[str] | None) -> tuple[str, int]:
    """What stands outside single quotes, and where the command ends; ValueError for a quote that stays open."""
    outside = ""
    while place < len(text) and (ends is None or ends.match(text, place) is None):
        end = text.index(text[place], place + 1) + 1 if text[place] in "'\"" else place + 1
        outside += "" if text[place] == "'" else text[place:end]
        place = end
    return outside, place


def obeyed(text: str, *, whole: bool) -> Iterator[str]:
    """Yield what a shell would obey in a text that is a command (`whole`), or in the commands of a sentence."""
    place = 0
    begins = re.compile("") if whole else _BEGIN
    while (begin := begins.search(text, place)) is not None:
        start = begin.start()
        try:
            outside, place = _outside(text, start, None if whole else _END)
        except ValueError:
            if not text.endswith("..."):
                yield f"an open quote: {text[start:]}"
            return
        for ours in _OURS[: -1 if whole else None]:
            outside = outside.replace(ours, " ")
        if MARK in outside or re.search(r"[;|&$`<>\n\r]", outside) or not outside.isprintable():
            yield outside
        if whole:
            return


def texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text with the name of the field that it is in."""
    match value:
        case str():
            yield name, value
        case pydantic.BaseModel():
            for part in type(value).model_fields:
                yield from texts(getattr(value, part), part)
        case Mapping() | facts.Condition():
            for key, item in (value if isinstance(value, Mapping) else value._asdict()).items():
                yield from texts(item, str(key))
        case tuple() | list() | set() | frozenset():
            for item in value:
                yield from texts(item, name)
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from texts(getattr(value, field.name), field.name)
        case _:
            pass


def spoiled(value: Any, evil: Mapping[str, str]) -> Any:
    """The same value with these texts replaced, in whatever it holds; keys of mappings stay."""
    match value:
        case str() if type(value) is str:
            return evil.get(value, value)
        case pydantic.BaseModel():
            fields = type(value).model_fields
            return value.model_copy(update={field: spoiled(getattr(value, field), evil) for field in fields})
        case Mapping():
            return {key: spoiled(item, evil) for key, item in value.items()}
        case facts.Condition():
            return facts.Condition(*[spoiled(item, evil) for item in value])
        case tuple() | list() | frozenset():
            return type(value)(spoiled(item, evil) for item in value)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            changed = {
                field.name: spoiled(getattr(value, field.name), evil)
                for field in dataclasses.fields(value)
                if field.init
            }
            return dataclasses.replace(value, **changed)
        case _:
            return value


COMPLETED = worlds.completed().model_copy(update={"checks": ()})


def _advised() -> tuple[facts.Facts, ...]:
    """Worlds in which a person is asked for something, of every kind."""
    healthy, converging = worlds.healthy(), worlds.converging()
    pinned: dict[str, Any] = {
        "own_operator": worlds.own(backends=None),
        "ingress_controller": facts.IngressController(1, 1),
        "dnsmasq": True,
        "leader_leases": (facts.Lease("machine-1_0", worlds.NOW, 270, "infra", "host-0"),),
        "lifecycle_agent": True,
        "feature_gates": facts.FeatureGates((("4.20.1", False),)),
        "native_controller": facts.NativeController(
            present=True,
            conditions=facts.Conditions((facts.Condition("TopologyTransitionControllerUpgradeable", "False", "R"),)),
        ),
        "operands": {**healthy.operands, **{
            operand.key: facts.IngressController(1, 1)
            for group in worlds.MATRIX.groups for operand in group.operands if operand.kind == "IngressController"
        }, **{
            group.managed_by.key: facts.Managed("Managed", 1)
            for group in worlds.MATRIX.groups if group.managed_by is not None
        }, **{
            setting.key: facts.SingleNodeSetting("host-0", "infra", present=True)
            for setting in worlds.MATRIX.single_node_settings
        }},
    }  # fmt: skip
    failed = machine_worlds.known(
        *machine_worlds.on_hosts(machine_worlds.machine(0), machine_worlds.machine(1, phase="Failed", trouble="t")),
        hosts=(machine_worlds.host(0, failed=True, trouble="no power"), machine_worlds.host(1)),
        etcd=dataclasses.replace(worlds.etcd(), desired_replicas=1),
    )
    pools = worlds.pool(paused=True), worlds.pool("infra", paused=True)
    going = machine_worlds.known(*machine_worlds.three(deleting=True), scheduler=False)
    paused = worlds.moved(dataclasses.replace(worlds.converged(healthy), machine_config_pools=pools), converging)
    native = worlds.with_infrastructure(
        dataclasses.replace(
            healthy,
            feature_gates=facts.FeatureGates((("4.20.1", True),)),
            native_controller=facts.NativeController(present=True),
        ),
        desired="DualReplica",
    )
    return (
        healthy,
        dataclasses.replace(healthy, **pinned),
        worlds.with_infrastructure(dataclasses.replace(healthy, **pinned), desired=None),
        failed,
        going,
        paused,
        native,
        *(replies.in_phase(phase) for phase in Phase),
    )


ADVISED = _advised()
_COMMANDS = {"command", "cancel"}
"""Fields that hold a command and nothing else."""
_FIXED = {"True", "False", "Unknown", "master", "etcd", "Running", "Managed", "Deleting", "Failed", "4.20.1", ""}


@st.composite
def hostile_worlds(draw: st.DrawFn) -> facts.Facts:
    known = draw(st.sampled_from(ADVISED) | strategies.worlds_of_any_kind())
    # A command that is stored as a whole is one of ours: admission policies leave the record to the operator.
    given_texts = {text for field, text in texts(known) if field not in _COMMANDS}
    words = sorted(given_texts - (set() if draw(st.booleans()) else _FIXED))
    usual = sorted({*worlds.NAMES, *worlds.ADDRESSES, "worker", "infra", "host-0", "host-1", "machine-1"} & set(words))
    chosen = usual if draw(st.booleans()) else draw(st.lists(st.sampled_from(words), unique=True, max_size=8))
    first = draw(st.integers(0, len(EVIL) - 1))
    # Different texts stay different.
    evil = {
        word: EVIL[(first + index) % len(EVIL)] + (str(index) if index >= len(EVIL) else "")
        for index, word in enumerate(chosen)
    }
    return spoiled(known, evil)  # type: ignore[no-any-return]


def judge(value: Any) -> int:
    """Fail for what a shell would obey anywhere in this; return how many commands hold something hostile."""
    hostile = 0
    for field, text in texts(value):
        whole = field in _COMMANDS
        assert list(obeyed(text, whole=whole)) == [], f"{field}: {text}"
        hostile += whole and MARK in text
    return hostile


@given(known=hostile_worlds(), term=strategies.terms())
def test_nothing_that_is_decided_or_shown_lets_a_cluster_into_a_shell(known: facts.Facts, term: Any) -> None:
    hostile = judge(worlds.decide(known, term, transitions=worlds.TRANSITIONS))
    hostile += judge(page_state.led(known, term=term)) + judge(page_state.standing_by(known))
    event(f"hostile commands: {bool(hostile)}")


@given(known=hostile_worlds(), width=st.sampled_from((0, 40, 100)), caller=st.sampled_from(CALLERS))
def test_nothing_that_a_verb_answers_or_prints_does(known: facts.Facts, width: int, caller: naming.Caller) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    hostile = 0
    for verb in (replies.planned, replies.overview, replies.told, replies.audited):
        try:
            answer = verb(known)
        except errors.PluginError as error:
            judge(caller.spoken(str(error)))
            continue
        hostile += judge(answer) + judge(caller.answered(answer))
        for wide in (False, True):
            sheet_text = caller.spoken(replies.printed(answer, width, wide=wide))
            judge([line.strip() for line in sheet_text.splitlines()])
    event(f"hostile commands: {bool(hostile)}")


def test_these_worlds_hold_every_advisory_and_commands_with_hostile_values() -> None:
    """Else the properties above look at nothing."""
    evil = dict(zip((*worlds.NAMES, *worlds.ADDRESSES, "host-0", "machine-1", "infra"), EVIL, strict=False))
    advised, hostile = set(), set()
    for known in ADVISED:
        for record in (None, COMPLETED):
            for advisory in advisories.advise(spoiled(known, evil), worlds.HA, worlds.MATRIX, record, worlds.NOW):
                advised.add(advisory.name)
                hostile |= {advisory.name} if MARK in advisory.command else set()
    assert advised == {name.value for name in AdvisoryName}
    quoted = {"EtcdBackupOutdated", "LoadBalancerBackendsUnconfirmed", "ControlPlaneHostTrouble", "SingleNodeSettings"}
    assert hostile == {*quoted, "TopologyReadAtStart"}


@pytest.mark.parametrize("evil", EVIL)
def test_no_hint_repeats_a_user_or_a_namespace(evil: str) -> None:
    acting = cluster.Acting(evil, (evil,), evil)
    connection = cluster.Connection(None, "https://example.com", acting)  # type: ignore[arg-type] # nothing is sent
    resource = resources.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
    refused = [kind("patch", resource, evil, "x", 403, "x", "no") for kind in (kube.Forbidden, kube.NotFound)]
    hints = [
        *(caller.grant(cluster.READER, evil) for caller in CALLERS),
        authn._forbidden(evil),
        *(accept._explained(connection, error).hint for error in refused),
    ]
    for hint in hints:
        for caller in CALLERS:
            assert list(obeyed(caller.spoken(hint), whole=False)) == [], hint
    body = {"spec": {"desiredTopology": evil}}
    assert list(obeyed(write.command(body, acting), whole=True)) == []


@pytest.mark.parametrize("evil", EVIL)
def test_no_finding_about_a_definition_does(evil: str) -> None:
    raw = {"metadata": {"name": "x"}, "spec": {"group": capi.CORE}, "status": {"storedVersions": ["v1"]}}
    definition: capi.Definition = {**capi.definition(raw), "name": evil}
    infrastructure = worlds.healthy().infrastructure
    assert isinstance(infrastructure, facts.Infrastructure)
    listed = capi.platform({"spec": {"unmanagedCustomResourceDefinitions": [evil]}})
    names: frozenset[str] = frozenset()
    reading = capi.Reading(infrastructure, names, (definition,), listed, (), (), worlds.NOW)
    findings = capi.audit(reading)[0]["findings"]
    assert len(findings) == 3
    for item in findings:
        assert list(obeyed(item["command"], whole=True)) == []
