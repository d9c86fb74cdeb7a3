"""What somebody wrote wrongly is named, with what is allowed, before the cluster hears of it."""

from __future__ import annotations

import asyncio
import pathlib
import signal
import socket
import sys
from dataclasses import dataclass

import pytest
import yaml

from topology_simulator.apiserver import server

_BUILT_IN = pathlib.Path(__file__).parents[2] / "bindata" / "transitions" / "sno-to-ha-compact.yaml"
_PATIENCE = 20.0
OK, FAILED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its code, what it printed, what it complained about."""

    code: int
    printed: str
    complaint: str


async def command(*arguments: object) -> Ended:
    """Run the operator's command line to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "topology_controller", *map(str, arguments),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_PATIENCE):
            printed, complaint = await process.communicate()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
    assert process.returncode is not None
    return Ended(process.returncode, printed.decode(), complaint.decode())


def a_reason(ended: Ended, code: int) -> str:
    """The one calm line that a failed command left, without the program's name."""
    assert ended.code == code, ended
    assert ended.printed == "", ended
    assert "Traceback" not in ended.complaint, ended.complaint
    lines = ended.complaint.splitlines()
    assert len(lines) == 1, ended.complaint
    assert lines[0].startswith("cluster-topology-operator: "), ended.complaint
    return lines[0].removeprefix("cluster-topology-operator: ")


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
            "deadlineMinutes: 60",
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
    line = 1 + next(n for n, pair in enumerate(zip(text.splitlines(), faulty.splitlines(), strict=False)) if len({*pair}) > 1)
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
        (["--lease-duration", "9", "--renew-deadline", "6", "--retry-period", "0"], ["0 s"]),
        (["--lease-duration", "nan", "--renew-deadline", "6", "--retry-period", "1"], ["nan s"]),
        (["--lease-duration", "9"], ["--lease-duration, --renew-deadline and --retry-period go together"]),
        (["--bind-address", "0.0.0.0:8443"], ["0.0.0.0:8443", "--serving-cert-dir", "loopback"]),
        (["--bind-address", "[::]:8443"], ["[::]:8443", "--serving-cert-dir", "loopback"]),
        ([], ["0.0.0.0:8443", "--serving-cert-dir"]),
        (["--bind-address", "nonsense"], ["'nonsense' is not HOST:PORT"]),
        (["--bind-address", "127.0.0.1:99999"], ["'127.0.0.1:99999' is not HOST:PORT"]),
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
