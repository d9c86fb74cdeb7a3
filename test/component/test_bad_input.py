"""What somebody wrote wrongly is named, with what is allowed, before the cluster hears of it.

And a cluster that cannot be reached, or does not let us in: named once in the log, told by readyz, tried again with
patience, and forgotten when it is over.
"""

from __future__ import annotations

import collections
import pathlib
import socket
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, sentences
from test.component import forked
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from test import processes
    from test.component.world import World

_BUILT_IN = pathlib.Path(__file__).parents[2] / "bindata" / "transitions" / "sno-to-ha-compact.yaml"
OK, FAILED, USAGE = 0, 1, 2


async def command(*arguments: object) -> processes.Ended:
    """Run the operator's command line to its end."""
    return await forked.run(forked.OPERATOR, *map(str, arguments))


def a_reason(ended: processes.Ended, code: int) -> str:
    """The one calm line that a failed command left, without the program's name."""
    assert ended.code == code, ended
    return ended.complaint_of("cluster-topology-operator")


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        pytest.param(
            "preflight:\n  - {check: ClusterOperatorsStable}",
            "preflight:\n  - {check: ClusterOperatorStable}",
            ["unknown check 'ClusterOperatorStable'", "EtcdVotingMembers", "did you mean 'ClusterOperatorsStable'?"],
            id="unknown-check",
        ),
        pytest.param(
            "preflight:\n  - {check: ClusterOperatorsStable}",
            "preflight:\n  - {check: ClusterOperatorsStable, attLeast: 3}",
            ["unknown key 'attLeast' in preflight[0]", "allowed: ", "did you mean 'atLeast'?"],
            id="unknown-key-of-a-check",
        ),
        pytest.param(
            "summary: Single",
            "sumary: once more\nsummary: Single",
            ["unknown key 'sumary'", "allowed: ", "did you mean 'summary'?"],
            id="unknown-key",
        ),
        pytest.param(
            "settleSeconds: 60",
            "settleSeconds: -5",
            ["convergence.settleSeconds is -5", "greater than or equal to 0"],
            id="negative-number",
        ),
        pytest.param(
            "deadlineMinutes: 30",
            "deadlineMinutes: an hour",
            ["convergence.deadlineMinutes is 'an hour'", "integer"],
            id="no-number",
        ),
        pytest.param(
            "preflight:\n  - {check: ClusterOperatorsStable}",
            "preflight:\n  - {check: ClusterOperatorsStable]",
            ["not YAML"],
            id="no-yaml",
        ),
    ],
)
async def test_a_faulty_transition_file_stops_the_start_before_anything_is_contacted(
    tmp_path: pathlib.Path, right: str, wrong: str, words: list[str]
) -> None:
    text = _BUILT_IN.read_text()
    assert right in text
    folder = tmp_path / "transitions"
    folder.mkdir()
    file = folder / _BUILT_IN.name
    faulty = text.replace(right, wrong, 1)
    file.write_text(faulty)
    pairs = zip(text.splitlines(), faulty.splitlines(), strict=False)
    line = next(number for number, (one, other) in enumerate(pairs, start=1) if one != other)
    api = server.ApiServer()
    await api.start()
    try:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(api.kubeconfig()))
        ended = await command(
            "run", "--transitions-dir", folder, "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1:0"
        )
        asked = list(api.requests)
    finally:
        await api.stop()
    reason = a_reason(ended, USAGE)
    assert reason.startswith(f"{file}:{line}: "), reason
    for word in words:
        assert word in reason
    assert asked == []


async def test_every_fault_of_every_file_is_told_at_once(tmp_path: pathlib.Path) -> None:
    text = _BUILT_IN.read_text()
    (tmp_path / "one.yaml").write_text(text.replace("atLeast: 3", "atLeast: many"))
    (tmp_path / "two.yaml").write_text("name: two\n")
    ended = await command("run", "--transitions-dir", tmp_path, "--bind-address", "127.0.0.1:0")
    assert ended.code == USAGE, ended
    told = [line for line in ended.complaint.splitlines() if f"{tmp_path}/" in line]
    assert told == ended.complaint.splitlines()
    assert sum("one.yaml" in line and "atLeast" in line for line in told) == 4, ended.complaint
    assert any("two.yaml" in line and "is missing" in line for line in told), ended.complaint


async def test_a_folder_without_definitions_is_named(tmp_path: pathlib.Path) -> None:
    empty = await command("run", "--transitions-dir", tmp_path, "--bind-address", "127.0.0.1:0")
    assert a_reason(empty, USAGE) == f"{tmp_path}: there is no *.yaml file; at least one definition is needed"
    missing = await command("run", "--transitions-dir", tmp_path / "nowhere", "--bind-address", "127.0.0.1:0")
    assert a_reason(missing, USAGE) == f"{tmp_path / 'nowhere'}: the folder cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "no such file", id="missing"),
        pytest.param("{", "not YAML", id="no-yaml"),
        pytest.param("[]", "", id="a-list"),
        pytest.param("apiVersion: v1\nkind: Config\n", "current-context", id="empty"),
        pytest.param("current-context: there\ncontexts: []\nclusters: []\nusers: []\n", "there", id="no-such-context"),
        pytest.param("\x00\x01", "", id="binary"),
    ],
)
async def test_a_kubeconfig_that_cannot_be_used_is_named(
    tmp_path: pathlib.Path, content: str | None, words: str
) -> None:
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)
    reason = a_reason(await command("run", "--kubeconfig", file, "--bind-address", "127.0.0.1:0"), FAILED)
    assert str(file) in reason
    assert words in reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lease-duration", "5", "--renew-deadline", "6", "--retry-period", "1"], ["lease duration 5 s", "6 s"]),
        (["--lease-duration", "9", "--renew-deadline", "6", "--retry-period", "7"], ["renew deadline 6 s", "7 s"]),
        (
            ["--lease-duration", "6", "--renew-deadline", "4", "--retry-period", "3"],
            ["--renew-deadline and --retry-period: retry period 3 s must be at most 2 s with renew deadline 4 s"],
        ),
        (
            ["--lease-duration", "3", "--renew-deadline", "1", "--retry-period", "0.2"],
            ["renew deadline 1 s must be at least 2 s"],
        ),
        (["--lease-duration", "9", "--renew-deadline", "6", "--retry-period", "0"], ["0 s"]),
        (["--lease-duration", "nan", "--renew-deadline", "6", "--retry-period", "1"], ["nan s"]),
        (["--lease-duration", "9"], ["--lease-duration, --renew-deadline and --retry-period go together"]),
        (["--bind-address", "0.0.0.0:8443"], ["0.0.0.0:8443", "--serving-cert-dir", "loopback"]),
        (["--bind-address", "[::]:8443"], ["[::]:8443", "--serving-cert-dir", "loopback"]),
        ([], ["0.0.0.0:8443", "--serving-cert-dir"]),
        (["--bind-address", "nonsense"], ["'nonsense' is not HOST:PORT"]),
        (["--bind-address", "127.0.0.1:99999"], ["'127.0.0.1:99999' is not HOST:PORT"]),
        (["--page-address", "127.0.0.1:8080"], ["--page-address goes with --serving-cert-dir"]),
        (["--serving-cert-dir", "D", "--page-address", "0.0.0.0:8080"], ["--page-address 0.0.0.0:8080", "loopback"]),
        (["--serving-cert-dir", "D", "--page-address", ":8080"], ["--page-address :8080", "loopback"]),
        (["--serving-cert-dir", "D", "--page-address", "[::]:8080"], ["--page-address [::]:8080", "loopback"]),
        (["--serving-cert-dir", "D", "--page-address", "10.0.0.1:80"], ["--page-address 10.0.0.1:80", "loopback"]),
        (["--serving-cert-dir", "D", "--page-address", "8080"], ["--page-address: '8080' is not HOST:PORT"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else None,
)
async def test_flags_that_contradict_or_expose_are_refused(
    tmp_path: pathlib.Path, arguments: list[str], words: list[str]
) -> None:
    address = [] if "--bind-address" in arguments or not arguments else ["--bind-address", "127.0.0.1:0"]
    ended = await command("run", "--kubeconfig", tmp_path / "never-opened", *address, *arguments)
    reason = a_reason(ended, USAGE)
    for word in words:
        assert word in reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["COMMAND"]),
        (["fly"], ["'fly'", "'run'", "'manifests'", "'version'"]),
        (["run", "--log-level", "loud"], ["'loud'", "'debug'"]),
        (["run", "--settle-seconds", "soon"], ["--settle-seconds", "'soon'"]),
        (["run", "--settle-seconds", "-3"], ["--settle-seconds", "'-3'"]),
        (["run", "--lease-duration", "long"], ["--lease-duration", "'long'"]),
        (["run", "--unknown"], ["--unknown"]),
        (["manifests", "--crd-only", "--crd-patch"], ["--crd-patch", "--crd-only"]),
    ],
    ids=" ".join,
)
async def test_usage_that_is_not_understood_ends_with_the_usage(arguments: list[str], words: list[str]) -> None:
    ended = await command(*arguments)
    assert ended.code == USAGE, ended
    assert ended.complaint.startswith("usage: cluster-topology-operator"), ended.complaint
    last = ended.complaint.splitlines()[-1]
    for word in words:
        assert word in last


async def test_a_taken_port_is_named(tmp_path: pathlib.Path) -> None:
    api = server.ApiServer()
    await api.start()
    try:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(api.kubeconfig()))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            ended = await command("run", "--kubeconfig", kubeconfig, "--bind-address", f"127.0.0.1:{port}")
    finally:
        await api.stop()
    lines = ended.complaint.splitlines()
    assert ended.code == FAILED, ended
    assert "Traceback" not in ended.complaint, ended.complaint
    assert "Task" not in ended.complaint, ended.complaint
    assert str(port) in lines[-1]
    assert "address already in use" in lines[-1]


async def test_a_certificate_folder_without_certificates_is_named(tmp_path: pathlib.Path) -> None:
    api = server.ApiServer()
    await api.start()
    try:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(api.kubeconfig()))
        ended = await command(
            "run", "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1:0", "--serving-cert-dir", tmp_path
        )
    finally:
        await api.stop()
    assert ended.code == FAILED, ended
    assert "Traceback" not in ended.complaint, ended.complaint
    assert str(tmp_path) in ended.complaint.splitlines()[-1]


# -- the cluster cannot be reached, or does not let us in

_IDLE = (
    "infrastructures.config.openshift.io/cluster",
    "clusteroperators.config.openshift.io/topology",
    "featuregates.config.openshift.io/cluster",
    "configs.operator.openshift.io/cluster",
)


async def test_a_server_that_is_not_there_yet_is_waited_for(world: World) -> None:
    async with world.server.away():
        operator = await world.operator(wait=False)
        for what in _IDLE:
            await operator.said(f"cannot watch {what}: {sentences.UNREACHABLE}")
        status, text = await operator.ask("/readyz")
        assert status == 500
        assert text.splitlines() == [f"{what}: {sentences.UNREACHABLE}" for what in _IDLE]
        # Being blind is no reason to be restarted.
        assert await operator.ask("/healthz") == (200, "ok\n")
        assert operator.alive
    await operator.ready(seconds=20.0)
    await world.ask_for()
    await world.until_phase("Completed", seconds=20.0)


@pytest.mark.nightly(but=("503",))
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        pytest.param({"action": "drop"}, sentences.UNREACHABLE, id="dropped"),
        pytest.param({"action": "status", "code": 401}, "Unauthorized: the credentials were not accepted", id="401"),
        pytest.param({"action": "status", "code": 503}, "503", id="503"),
    ],
)
async def test_a_server_that_does_not_answer_is_asked_ever_less_often(
    world: World, fault: dict[str, Any], why: str
) -> None:
    active = world.server.fault(**fault)
    operator = await world.operator(wait=False, lease=())
    for what in _IDLE:
        await operator.said(f"cannot watch {what}: {why}")
    began = world.server.mark()
    seconds = 4.0

    async def blind() -> bool:
        status, text = await operator.ask("/readyz")
        return status == 500 and all(f"{what}: {why}" in text for what in _IDLE)

    await polling.steadily("not ready, with the reasons", blind, seconds)
    asked = collections.Counter(one.resource for one in world.server.asked(began))
    assert set(asked) >= {"infrastructures", "clusteroperators", "featuregates", "configs"}
    # Read once at the start, by a call that tries again within its own budget: the first pauses are short.
    assert asked.pop("customresourcedefinitions", 0) <= 2 * seconds, asked
    assert all(count <= seconds for count in asked.values()), asked
    assert operator.alive
    told = [line for line in operator.words().splitlines() if "cannot watch" in line]
    assert len(told) == len(set(told)) == len(_IDLE), told
    world.server.lift(active)
    await operator.ready(seconds=20.0)
    for what in _IDLE:
        await operator.said(f"watching {what} again")


@pytest.mark.nightly(but=("infrastructures-infrastructures.config.openshift.io/cluster",))
@pytest.mark.parametrize(
    ("resource", "what"), [("featuregates", _IDLE[2]), ("infrastructures", _IDLE[0]), ("configs", _IDLE[3])]
)
async def test_one_kind_that_is_forbidden_is_named_and_the_others_are_not(
    world: World, resource: str, what: str
) -> None:
    active = world.server.fault("status", code=403, resource=resource)
    operator = await world.operator(wait=False)
    await operator.said(f"cannot watch {what}: {sentences.FORBIDDEN}")
    assert (await operator.ask("/readyz"))[0] == 500
    await world.ask_for()

    async def only() -> bool:
        status, text = await operator.ask("/readyz")
        named = [line.partition(": ")[0] for line in text.splitlines()]
        unmoved = not world.server.topology_changes
        return status == 500 and what in named and not (set(_IDLE) - {what}) & set(named) and unmoved

    await polling.until("only the one kind is named", only)
    await polling.steadily("only the one kind is named, and nothing moves", only, 1.0)
    world.server.lift(active)
    await world.until_phase("Completed", seconds=20.0)
    await operator.ready()


@pytest.mark.nightly(but=("nodes-ControlPlaneNodes-nodes",))
@pytest.mark.parametrize(
    ("resource", "check", "what"),
    [
        ("nodes", "ControlPlaneNodes", "nodes"),
        ("configmaps", "EtcdVotingMembers", "configmaps/etcd-endpoints in namespace openshift-etcd"),
        ("schedulers", "MastersSchedulable", "schedulers.config.openshift.io/cluster"),
    ],
)
async def test_evidence_that_is_forbidden_is_unknown_and_never_met(
    world: World, resource: str, check: str, what: str
) -> None:
    operator = await world.idle_operator()
    active = world.server.fault("status", code=403, resource=resource)
    await world.ask_for()
    found = await world.until_check(check, "Unknown")
    assert what in found["message"]
    assert sentences.FORBIDDEN in found["message"]
    assert (await world.record())["phase"] == "Pending"
    status, text = await operator.ask("/readyz")
    assert status == 500
    assert what in text
    world.server.lift(active)
    await world.until_phase("Completed", seconds=20.0)
    assert len(world.server.topology_changes) == 1


async def test_a_lease_that_is_forbidden_is_named_and_waited_for(world: World) -> None:
    active = world.server.fault("status", code=403, resource="leases")
    operator = await world.operator(wait=False)
    words = await operator.said(
        "waiting for the lease: cannot get leases.coordination.k8s.io/cluster-topology-operator"
    )
    assert "403" in words
    await world.ask_for()

    async def untouched() -> bool:
        return operator.alive and not world.server.writes

    before = world.server.mark()

    async def tried() -> bool:
        assert await untouched()
        return sum(request.resource == "leases" for request in world.server.asked(before)) >= 2

    await polling.until("it has tried the lease twice more", tried)
    world.server.lift(active)
    await world.until_phase("Completed", seconds=20.0)
