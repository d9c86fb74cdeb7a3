"""The installed command as a process of its own: what it reads, writes and waits for, and how it ends.

    0 done or possible   1 error   2 usage   3 blocked   4 unsupported   5 timed out   130 interrupted

Rights, impersonation and certificates are asked of a real API server. What programs read while a cluster converges is
recorded; docs/development/sessions has what people read.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, processes, recorded, sentences
from test.component import cluster, documented, phases, plugin, real
from test.component import world as worlds
from topology_simulator import install, kinds
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component.world import World

DESIRED = worlds.DESIRED
CONFIRMED = ("set", DESIRED, "--confirm")


@pytest.fixture
def command(world: World, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, world.server.kubeconfig())


async def requested(world: World) -> str | None:
    found: str | None = (await world.infrastructure())["spec"].get("desiredTopology")
    return found


async def test_before_the_operator_is_there_everything_can_be_asked(world: World, command: plugin.Plugin) -> None:
    mark = world.server.mark()
    code, ways = await command.json("plan")
    assert code == plugin.DONE
    assert {one["name"]: one["verdict"] for one in ways["transitions"]} == {
        "sno-to-ha-compact": "Possible",
        "sno-to-ha-with-workers": "Blocked",
    }
    code, found = await command.json("plan", DESIRED)
    assert (code, {one["status"] for one in found["checks"]}) == (plugin.DONE, {"Met"})
    assert found["operator"]["state"] == "NotInstalled"
    assert (await command.json("plan", "DualReplica"))[0] == plugin.UNSUPPORTED
    code, told = await command.json("status")
    assert (code, told["phase"]) == (plugin.DONE, None)
    assert (await command.run("graph", "-o", "mermaid")).printed.startswith("flowchart LR")
    assert (await command.run("set", "Highlyavailable")).code == plugin.USAGE
    assert (await command.run("set", "DualReplica", "--confirm")).code == plugin.UNSUPPORTED
    assert (await command.run(*CONFIRMED)).code == plugin.BLOCKED, "no operator runs"
    assert world.server.changes(plugin.PROGRAM, mark) == 0

    full = os.open("/dev/full", os.O_WRONLY)
    ended = await command.run(*CONFIRMED, "--allow-pending", stdout=full)
    os.close(full)
    assert (ended.code, await requested(world)) == (plugin.FAILED, DESIRED)
    assert ended.reason.startswith("the output cannot be written: No space left on device; HighlyAvailable is request")
    ended = await command.run(*CONFIRMED, "--allow-pending", "--wait", "--timeout", "1s")
    assert (ended.code, await requested(world)) == (plugin.TIMED_OUT, DESIRED)
    assert "the operator is not installed, so a request would have no effect" in ended.complaint
    assert (await command.run("cancel")).code == plugin.DONE
    world.server.fault("status", user_agent=plugin.AGENT, code=403, resource="infrastructures")
    ended = await command.run("plan")
    assert (ended.code, ended.reason.startswith("forbidden: you need permission to get")) == (plugin.FAILED, True)


async def test_a_request_is_refused_then_made_then_cancelled_then_carried_out(
    world: World, command: plugin.Plugin
) -> None:
    await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    mark = world.server.mark()
    code, planned = await command.json("plan", DESIRED)
    assert (code, planned["verdict"]) == (plugin.BLOCKED, "Blocked")
    refused = await command.run(*CONFIRMED)
    assert (refused.code, "Refused  Nothing was written." in refused.printed) == (plugin.BLOCKED, True)
    code, dry = await command.json("set", DESIRED, "--allow-pending")
    assert (code, dry["result"], world.server.changes(plugin.PROGRAM, mark)) == (plugin.DONE, "WouldWrite", 0)

    code, made = await command.json(*CONFIRMED, "--allow-pending")
    assert (code, made["result"], await requested(world)) == (plugin.DONE, "Written", DESIRED)
    assert made["operatorSays"].startswith("Pending 10/11: waiting for ControlPlaneNodes")
    code, told = await command.json("status")
    assert (code, told["phase"], told["operator"]["state"]) == (plugin.DONE, "Pending", "Running")
    assert [{name: one[name] for name in ("name", "status", "message")} for one in told["checks"]] == planned["checks"]
    waited = await command.run("wait", DESIRED, "--timeout", "0")
    assert waited.code == plugin.TIMED_OUT
    assert re.match(r"Pending 10/11\n\n.* ControlPlaneNodes +Wanted: .*Not eligible: master-2", waited.complaint), (
        waited
    )
    code, versions = await command.json("version")
    assert (code, versions["operator"], versions["skew"]) == (plugin.DONE, versions["client"], None)
    code, again = await command.json(*CONFIRMED)
    assert (code, again["result"], again["patch"]) == (plugin.DONE, "Unchanged", None)
    code, cancelled = await command.json("cancel")
    assert (code, cancelled["result"], cancelled["phase"]) == (plugin.DONE, "Written", "Idle")
    assert cancelled["requestedBy"] == plugin.PROGRAM
    assert world.server.changes(plugin.PROGRAM, mark) == 2

    await cluster.set_ready(world.api, "master-2", ready=True)
    carried = await command.run(*CONFIRMED, "--wait", "--timeout", "50s")
    assert (carried.code, sentences.COMPLETED in carried.printed) == (plugin.DONE, True), carried
    code, told = await command.json("status")
    assert (code, told["phase"], told["topologyWriter"]) == (plugin.DONE, "Completed", "cluster-topology-operator")
    assert (await command.json("plan", DESIRED))[1]["verdict"] == "Fulfilled"
    removed = await command.json("cancel")
    assert (removed[0], removed[1]["phase"], await requested(world)) == (plugin.DONE, "Idle", None)
    code, ways = await command.json("plan")
    assert (code, ways["verdict"]) == (plugin.DONE, "NothingToDo")


# -- who asks whom


async def test_rights_are_those_of_whom_one_acts_as(
    there: World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    command = plugin.Plugin(tmp_path, real_server.server.kubeconfig())
    acting = ("--as", "jane", "--as-group", "growers", "--as-uid", "u-7")
    # On a busy machine some evidence may be too old by now: rights are the question here.
    asking = (*CONFIRMED, "--allow-pending")
    infrastructure = "infrastructures.config.openshift.io/cluster"
    stranger = await command.run(*asking, *acting)
    assert stranger.code == plugin.FAILED
    assert stranger.reason.startswith(f"forbidden: jane needs permission to get {infrastructure}")

    reading: dict[str, Any] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    requesting = {"apiGroups": ["config.openshift.io"], "resources": ["infrastructures"], "verbs": ["patch"]}
    await _grant(there, "growers-read", reading)
    await polling.until("a group may read", lambda: _done(command, "status", *acting), 60.0)
    reader = await command.run(*asking, *acting)
    assert reader.code == plugin.FAILED
    assert reader.reason.startswith(f"forbidden: jane needs permission to patch {infrastructure}")
    assert "oc adm policy add-cluster-role-to-user topology-requester jane" in reader.reason
    assert await requested(there) is None

    await _grant(there, "growers-request", requesting)
    await polling.until("a group may request", lambda: _done(command, *asking, *acting), 20.0)
    assert await requested(there) == DESIRED
    code, found = await command.json("cancel", *acting)
    assert (code, found["result"], await requested(there)) == (plugin.DONE, "Written", None)
    assert "--as=jane --as-group=growers --as-uid=u-7 -p" in found["patch"]["command"]


async def _grant(world: World, role: str, rule: dict[str, Any]) -> None:
    """Bind the group to a role; both are gone before the next test (`real.Session.furnish`)."""
    await world.api.create(real.ROLES, real.ROLES.new(role, rules=[rule]))
    await world.api.create(real.ROLE_BINDINGS, real.bound(role, kind="Group", name="growers"))


async def _done(command: plugin.Plugin, *words: str) -> bool:
    return (await command.run(*words)).code == plugin.DONE


# -- what programs read, and what a shell completes

HERE = (
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "TIME"),
    (r"\b\d\d:\d\d:\d\d\b", "CLOCK"),
    (r"https?://127\.0\.0\.1:\d+", "https://SERVER"),
    (r"\b[0-9a-f]{32}\b", "ATTEMPT"),
    (r"\b\d+(\.\d+)? (s|seconds?)\b", "N s"),
    (r"\(in \d+ (h|min)\)", "(in AGE)"),
    (r"\b(\d+[smh])+ ago\b", "AGE ago"),
    (r"\bin 119 min\b", "in 2 h"),
    (r"\b(operator-a)_[-0-9a-z]+", r"\1_ID"),
    (r"((?:resourceVersion|\"resourceVersion\"|generation)\W+)\d+", r"\1N"),
)
"""Times, ports, folders and ages are written as what they are: nothing else may differ from one run to the next."""
COMMANDS = (
    ("plan", "-o", "yaml"), ("plan", DESIRED, "-o", "yaml"), ("status", "-o", "yaml"), ("graph", "-o", "mermaid"),
    ("audit", "-o", "yaml"), ("set", DESIRED, "-o", "yaml"),
)  # fmt: skip


def _told(words: tuple[str, ...], ended: plugin.Ended) -> str:
    text = f"$ kubectl-topology {' '.join(words)}\n{ended.printed}"
    text += "".join(f"stderr: {line}\n" for line in ended.complaint.splitlines())
    text += f"exit code {ended.code}\n"
    for pattern, word in HERE:
        text = re.sub(pattern, word, text)
    return text


async def test_what_is_printed_while_a_cluster_converges(here: World, tmp_path: pathlib.Path) -> None:
    await phases.reach(here, "Converging")
    command = plugin.Plugin(tmp_path, here.server.kubeconfig())
    texts = [_told(words, await command.run(*words)) for words in COMMANDS]
    recorded.compare("plugin-converging.txt", "\n".join(texts).replace(str(tmp_path), "FOLDER"))


async def test_kubectl_itself_completes_the_command() -> None:
    """The executables of the plugin are found on the PATH, beside the interpreter."""
    programs = pathlib.Path(sys.executable).parent
    environment = {"PATH": f"{programs}{os.pathsep}{os.defpath}", "HOME": "/nowhere"}

    async def completed(*words: str) -> list[str]:
        ended = await processes.run(documented.kubectl(), "__complete", "topology", *words, env=environment)
        assert ended.code == 0, ended
        return [line.partition("\t")[0] for line in ended.printed.splitlines()]

    assert await completed("plan", "HighlyAvailableA") == ["HighlyAvailableArbiter", ":36"]
    assert await completed("status", "--wat") == ["--watch", ":4"]


# -- what goes into a page or a pipeline: a graph, a verdict

DOCS = pathlib.Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "gitops"


async def test_the_step_of_a_pipeline_ends_with_the_verdict_of_the_cluster(
    world: World, tmp_path: pathlib.Path
) -> None:
    """The step of docs/examples/gitops: the context has the name of the cluster's folder."""
    access = world.server.kubeconfig()
    (context,) = access["contexts"]
    place, folder = tmp_path / "kubeconfig-pipeline", tmp_path / "edge-1"
    place.write_text(yaml.safe_dump({**access, "contexts": [{**context, "name": "edge-1"}], "current-context": ""}))
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.defpath])
    kept = {key: value for key, value in os.environ.items() if key.startswith("PYTHON")}
    environment = {**kept, "KUBECONFIG": str(place), "HOME": str(tmp_path), "PATH": path}
    await asyncio.to_thread(shutil.copytree, EXAMPLE / "clusters" / "edge-1", folder)
    request = folder / "infrastructure.yaml"

    async def step(**more: str) -> processes.Ended:
        return await processes.run(EXAMPLE / "pipeline" / "plan.sh", folder, env={**environment, **more})

    await cluster.set_ready(world.api, "master-2", ready=False)
    ended = await step()
    assert (ended.code, "ControlPlaneNodes" in ended.printed) == (plugin.BLOCKED, True)
    ended = await step(ALLOW_PENDING="true")
    assert ended.code == plugin.DONE
    assert ended.printed.endswith("edge-1: blocked now; the operator waits until every check is met\n")
    request.write_text(request.read_text().replace(worlds.DESIRED, "HighlyAvaliable"))
    assert (await step(ALLOW_PENDING="true")).code == plugin.FAILED


# -- `fleet`, asked of a hub with works, whose definitions take anything, and of what is no hub

SURVEY, ROLL_OUT = "topology-fleet.topology-survey", "topology-fleet.topology"
WORKS = kinds.Kind("work.open-cluster-management.io", "manifestworks", "ManifestWork", namespaced=True)
CLUSTERS = kinds.Kind("cluster.open-cluster-management.io", "managedclusters", "ManagedCluster")
Raw = dict[str, Any]


def work(cluster: str, made_by: str, condition: Raw) -> Raw:
    """A ManifestWork as the work agent leaves it."""
    manifest = {"resourceMeta": {"kind": "Infrastructure", "name": "cluster"}, "conditions": [condition]}
    made = WORKS.new(made_by.partition(".")[2], cluster, status={"resourceStatus": {"manifests": [manifest]}})
    made["metadata"]["labels"] = {f"{WORKS.group}/manifestworkreplicaset": made_by}
    return made


def add(hub: server.ApiServer, *, available: str = "True", **messages: str) -> None:
    """Put clusters with the survey's work onto a hub."""
    for name, message in messages.items():
        state = {"type": "ManagedClusterConditionAvailable", "status": available}
        hub.install(kinds.NAMESPACES.new(name))
        hub.install(CLUSTERS.new(name, status={"conditions": [state]}))
        hub.install(work(name, SURVEY, {"type": "Ready", "status": "False", "message": message}))


@pytest.fixture
async def hub() -> AsyncIterator[server.ApiServer]:
    made = server.ApiServer(crds=tuple(map(install.of_anything, (WORKS, CLUSTERS))))
    await made.start()
    yield made
    await made.stop()


async def test_clusters_are_counted_and_listed_and_one_needs_a_person(
    hub: server.ApiServer, tmp_path: pathlib.Path
) -> None:
    command = plugin.Plugin(tmp_path, hub.kubeconfig())
    unasked = await command.run("fleet")
    assert (unasked.code, f"no ManifestWork of {SURVEY} is there" in unasked.reason) == (plugin.FAILED, True)
    add(hub, edge3="Ready", edge1="Ready", edge2="Done", edge4="UnderWay: Pending")
    add(hub, edge5="Done", available="Unknown")
    ended = await command.run("fleet")
    assert (ended.code, ended.printed) == (plugin.DONE, "5 surveyed: 1 done, 1 under way, 2 ready, 1 unreachable\n")
    assert (await command.run("fleet", "--list", "Ready")).printed == "edge1\nedge3\n"
    assert (await command.run("fleet", "--namespace", "other")).code == plugin.FAILED

    why = 'Apply failed with 1 conflict: conflict with "ops"'
    hub.install(work("edge3", ROLL_OUT, {"type": "Applied", "status": "False", "message": why}))
    code, answer = await command.json("fleet")
    assert (code, answer["counts"]["NeedsAPerson"]) == (plugin.BLOCKED, 1)
    listed = await command.run("fleet", "--list", "NeedsAPerson")
    assert (listed.code, listed.printed) == (plugin.BLOCKED, "edge3\n")


async def test_what_is_no_hub_is_named(tmp_path: pathlib.Path) -> None:
    bare = server.ApiServer()
    await bare.start()
    command = plugin.Plugin(tmp_path, bare.kubeconfig())
    try:
        cluster = await command.run("fleet")
    finally:
        await bare.stop()
    assert (cluster.code, cluster.reason.endswith("this is no hub")) == (plugin.FAILED, True)
    gone = await command.run("fleet")
    assert (gone.code, gone.reason.startswith("connection refused")) == (plugin.FAILED, True)


async def test_who_may_not_act_as_another_and_whose_authority_is_unknown_is_told_so(
    real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    command = plugin.Plugin(tmp_path, real_server.server.kubeconfig("operator-a"))
    for words in (("status",), CONFIRMED):
        ended = await command.run(*words, "--as", "system:admin")
        assert (ended.code, "cannot impersonate" in ended.reason) == (plugin.FAILED, True)
        assert ended.reason.startswith("you may not act as system:admin: ")
    access = real_server.server.kubeconfig()
    for one in access["clusters"]:
        del one["cluster"]["certificate-authority-data"]
    command = plugin.Plugin(tmp_path, access)
    refused = await command.run("status")
    assert (refused.code, refused.reason.startswith("the certificate of https://")) == (plugin.FAILED, True)
    assert "Cannot connect" not in refused.reason, "the words of a library"
    heard = await command.run("status", "--insecure-skip-tls-verify")
    assert "certificate" not in heard.complaint, heard.complaint
