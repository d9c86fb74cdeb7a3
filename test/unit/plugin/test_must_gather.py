"""`--must-gather`: the answers of a cluster, from what was collected of it; and what is no such archive.

Laid out as openshift/oc pkg/cli/admin/inspect (6b8e30c5) and openshift/must-gather collection-scripts/gather (16ac27ee)
lay it out: kinds of config.openshift.io and what is in a related namespace are lists, all else is one by one.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import functools
import gzip
import io
import json
import os
import pathlib
import re
import tarfile
import tempfile
import tracemalloc
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import looptime
import pytest
import yaml
from hypothesis import event, given
from hypothesis import strategies as st

from kubectl_topology import answers, errors, main, must_gather, recorded
from kubectl_topology import cluster as connected
from kubectl_topology.commands import audit, plan
from topology_api import vocabulary
from topology_controller.observe import catalog

from ..core import raw_operands, worlds
from ..core.clusters import ROUTER, Cluster, running, virtual_now

if TYPE_CHECKING:
    from datetime import datetime

Files = dict[str, bytes]
ROOT = "must-gather.local.1/quay-io-openshift-release-dev-sha256-1/"
NODES, CONFIG = (f"{ROOT}cluster-scoped-resources/{group}/" for group in ("core/nodes", "config.openshift.io"))
VERDICTS = {"idle": "Possible", "pending": "Blocked", "stuck": "UnderWay", "completed": "Fulfilled"}
TRANSITIONS, NAMESPACE = worlds.TRANSITIONS, vocabulary.DEFAULT_NAMESPACE
SELECTIONS = [source.selection for source in (*catalog.ALL, *catalog.watched(TRANSITIONS))]
KINDS = {raw_operands.plural(f"{one.resource.plural}.{one.resource.group}"): one.resource for one in SELECTIONS}
LISTED = ("pods", "deployments", "statefulsets", "configmaps", "poddisruptionbudgets")
Capture = pytest.CaptureFixture[str]


def collected(cluster: Cluster, at: datetime) -> Files:
    """Every file by its path, of an inspect that took the minute after `at`."""
    objects: Any = copy.deepcopy(cluster.objects)
    objects["leases", "kube-node-lease", "node-0"] = {"metadata": {"namespace": "kube-node-lease", "name": "node-0"}}
    spaces = [f"namespaces/{one.namespace}" for one in SELECTIONS if one.namespace]
    # What is not in the cluster in memory is related by operators that are not in it either.
    related = [
        {"group": kind.group, "resource": kind.plural}
        for plural, kind in KINDS.items()
        if plural not in {key[0] for key in objects}
    ]
    lists: Any = {f"{space}/{KINDS[each].group or 'core'}/{each}": [] for space in spaces for each in LISTED}
    found: Any = {}
    for (plural, namespace, name), raw in sorted(objects.items(), key=str):
        kind = KINDS[plural]
        raw.update(apiVersion=kind.api_version, kind=kind.kind)
        if plural == "clusteroperators":
            raw.setdefault("status", {}).setdefault("relatedObjects", related)
        scope = f"namespaces/{namespace}" if namespace else "cluster-scoped-resources"
        path = f"{scope}/{kind.group or 'core'}/{kind.plural}"
        if kind.group == catalog.CONFIG or path in lists:
            lists.setdefault(path, []).append(raw)
        if path not in lists or plural == "clusteroperators":
            found[f"{path}/{name}.yaml"] = raw
    found |= {f"{path}.yaml": {"apiVersion": "v1", "kind": "List", "items": items} for path, items in lists.items()}
    groups: dict[str, Any] = {kind.group: {"freshness": "Current", "resources": []} for kind in KINDS.values()}
    for kind in {*KINDS.values()} - {KINDS["imagebasedupgrades"]}:
        groups[kind.group]["resources"].append({"resource": kind.plural})
    served = [{"metadata": {"name": name}, "versions": [version]} for name, version in groups.items()]
    found["aggregated-discovery-apis.yaml"] = {"kind": "APIGroupDiscoveryList", "items": served}
    return {
        **{
            ROOT + path: b"---\n" + yaml.safe_dump(json.loads(json.dumps(value))).encode()
            for path, value in found.items()
        },
        f"{ROOT}timestamp": _times(at, at + timedelta(minutes=1)),
        f"{ROOT}version": b"openshift/must-gather\n4.20.1\n",
        f"{ROOT}gather.logs": b"2026-03-01T12:00:00Z Wrote inspect data to must-gather.\n",
    }


def _times(*moments: datetime) -> bytes:
    return "".join(f"{moment:%Y-%m-%d %H:%M:%S}.5 +0000 UTC m=+0.1\n" for moment in moments).encode()


def packed(found: Files, *more: tarfile.TarInfo, mode: Any = "w:gz") -> bytes:
    """An archive of these files, and of members without content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for path, content in found.items():
            tar.addfile(_member(path, size=len(content)), io.BytesIO(content))
        for member in more:
            tar.addfile(member)
    return out.getvalue()


def _member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, "/etc/passwd" if kind != tarfile.REGTYPE else ""
    return member


@functools.cache
def lived(state: str) -> tuple[Cluster, datetime, Files]:
    """A cluster in a state, when it was looked at, and what was collected of it."""

    async def live() -> tuple[Cluster, datetime, Files]:
        async with running(world := Cluster()):
            if state == "pending":
                world.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
            await asyncio.sleep(1)
            world.ask_for(None if state == "idle" else "HighlyAvailable")
            await asyncio.sleep(30)
            if state in {"stuck", "completed"}:
                world.follow()
            if state == "stuck":
                world.change(ROUTER, {"spec": {"replicas": 1}, "status": {"availableReplicas": 1}})
            await asyncio.sleep(3 * 3600)
        return world, virtual_now(), collected(world, virtual_now())

    with asyncio.Runner(loop_factory=lambda: looptime.patch_event_loop(asyncio.SelectorEventLoop(), start=0)) as runner:
        return runner.run(live())


def _answers(client: Any, now: datetime) -> dict[str, Any]:
    """What every verb that reads answers, and the facts."""

    async def asked() -> Any:
        at = connected.Connection(client, "here", collected=now)
        whole = await connected.everything(at, TRANSITIONS, NAMESPACE)
        return whole.known, {
            "plan": plan.target(whole, TRANSITIONS, "HighlyAvailable")[0],
            "ways": plan.overview(await connected.overview(at, TRANSITIONS, NAMESPACE), TRANSITIONS)[0],
            "status": recorded.status(await connected.present(at, TRANSITIONS, NAMESPACE), TRANSITIONS),
            "audit": audit.audit(await connected.census(at, TRANSITIONS, NAMESPACE), TRANSITIONS)[0],
        }

    known, found = asyncio.run(asked())
    # Which settings for one node are served, the cluster in memory does not say.
    return {**json.loads(json.dumps(found)), "known": dataclasses.replace(known, operands={})}


def _written(folder: pathlib.Path, content: bytes | Files) -> str:
    for path, raw in (content if isinstance(content, dict) else {"x": content}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(raw)
    return str(folder if isinstance(content, dict) else folder / "x")


def _read(source: str) -> dict[str, Any]:
    archive = must_gather.read(source, TRANSITIONS, NAMESPACE)
    return _answers(archive, archive.time)


@pytest.mark.parametrize("state", VERDICTS)
def test_the_answers_are_those_of_the_cluster(tmp_path: pathlib.Path, state: str) -> None:
    cluster, now, found = lived(state)
    live = _answers(cluster, now)
    for content in (found, packed(found), packed(found, mode="w")):
        assert _read(_written(tmp_path, content)) == live
    phase = {"stuck": "Converging"}.get(state, state.title())
    assert (live["status"]["phase"], live["plan"]["verdict"]) == (phase, VERDICTS[state])


JUNK = (
    b"",
    b"\0",
    b"a: [",
    b"- 1\n",
    b"a: &a {b: *a}\n",
    b"[" * 100_000,
    b"a: 1\n---\nb: 1\n",
    b"metadata: {name: x}\n",
)


@given(data=st.data(), state=st.sampled_from([*VERDICTS]), short=st.booleans())
def test_what_is_not_there_is_unknown_and_named_and_moves_nothing_else(
    data: st.DataObject, state: str, *, short: bool
) -> None:
    """Kinds are missing or broken, where inspect was cut `short` and where it was not."""
    cluster, now, whole = lived(state)
    found = {**whole, **({f"{ROOT}gather.logs": b""} if short else {})}
    objects = [path for path in found if "-resources/" in path or "/namespaces/" in path]
    kinds = {path.rpartition("/")[0] if path.count("/") > 4 else path for path in objects}
    # An archive that was not cut short proves what it has none of.
    proved = ("/nodes", "/machineconfigpools", "/leases")
    gone = data.draw(st.sets(st.sampled_from(sorted(kind for kind in kinds if short or not kind.endswith(proved)))))
    for path in [path for path in objects if path.startswith(tuple(gone)) and "/infrastructures" not in path]:
        found[path] = data.draw(st.sampled_from((*JUNK, found[path])))
        if data.draw(st.booleans()):
            del found[path]
    with tempfile.TemporaryDirectory() as folder:
        shown = _read(_written(pathlib.Path(folder), packed(found, mode="w")))
    live = _answers(cluster, now)
    event(shown["plan"]["verdict"])
    for fact in [fact for name in ("plan", "ways", "status", "audit") for fact in shown[name]["unread"]]:
        assert fact["why"] == must_gather.NOT_COLLECTED or fact["why"].startswith("malformed"), fact
    for check, before in zip(shown["plan"]["checks"], live["plan"]["checks"], strict=False):
        assert check == before or check["status"] == "Unknown"
    assert shown["plan"]["verdict"] in {live["plan"]["verdict"], "CannotTell"}


ENDED = b"Wrote inspect data to must-gather.\n"
FAILED = b"skipping gathering machineconfigpools.machineconfiguration.openshift.io due to\n" + ENDED
RELATING = "cluster-scoped-resources/config.openshift.io/clusteroperators/topology.yaml"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("version", b"x"),
        ("gather.logs", FAILED),
        ("gather.logs", b""),
        ("gather.logs", ENDED * 2),
        (RELATING, b""),
    ],
    ids=["nothing failed", "a failure", "no end", "another end", "what relates it was not inspected"],
)
def test_none_is_believed_where_inspect_came_to_its_end(tmp_path: pathlib.Path, name: str, content: bytes) -> None:
    found = {path: raw for path, raw in lived("idle")[2].items() if "/machineconfigpools/" not in path}
    pools = _read(_written(tmp_path, packed({**found, ROOT + name: content})))["known"].machine_config_pools
    assert (pools if name == "version" else pools.why) == (() if name == "version" else must_gather.NOT_COLLECTED)


def test_ages_count_from_the_leases_and_older_files_are_named(tmp_path: pathlib.Path, capsys: Capture) -> None:
    """An earlier run left files in the folder, then one of ten minutes read the Leases; another image came before."""
    _, now, found = lived("idle")
    found = dict(found)
    before, renewed = now - timedelta(days=2), answers.stamp(now + timedelta(minutes=5))
    found[f"{ROOT}timestamp"] = _times(before, before, now, now + timedelta(minutes=10))
    lease = f"{ROOT}namespaces/kube-node-lease/coordination.k8s.io/leases/node-0.yaml"
    found[lease] += f'spec:\n  renewTime: "{renewed}"\n'.encode()
    path = "cluster-scoped-resources/config.openshift.io/infrastructures.yaml"
    older = re.sub(rb"(resourceVersion: )'\d+'", rb"\1'1'", found[ROOT + path])
    found[f"must-gather.local.1/z/{path}"] = older.replace(b"SingleReplica", b"External")
    source = _written(tmp_path, found)
    os.utime(tmp_path / f"{CONFIG}clusteroperators.yaml", (0, before.timestamp()))
    assert main.main(["status", "--must-gather", source, "-o", "json"]) == errors.ExitCode.DONE
    printed = capsys.readouterr()
    shown = json.loads(printed.out)
    assert (shown["evaluated"], shown["cluster"]["topology"]["controlPlane"]) == (renewed, "SingleReplica")
    first, second = printed.err.splitlines()
    assert f"collected at {renewed}" in first
    assert f"clusteroperators.yaml was written at {answers.stamp(before)}, before the rest" in second


HOSTILE = {
    "a path outside": lambda found: packed({**found, "must-gather/../../x": b"x"}),
    "an absolute path": lambda found: packed({**found, "/x": b"x"}),
    "a symlink": lambda found: packed(found, _member(f"{NODES}x.yaml", tarfile.SYMTYPE)),
    "a folder that is a symlink": lambda found: packed(found, _member("x/namespaces", tarfile.SYMTYPE)),
    "a hard link": lambda found: packed(found, _member(f"{ROOT}timestamp", tarfile.LNKTYPE)),
    "a device": lambda found: packed(found, _member(f"{CONFIG}x", tarfile.CHRTYPE)),
    "a file of 10 GiB": lambda _: _member("x", size=10 << 30).tobuf(tarfile.GNU_FORMAT) + bytes(10_240),
    "a name of 10 GiB": lambda _: gzip.compress(
        _member("x", b"L", 10 << 30).tobuf(tarfile.GNU_FORMAT) + bytes(1 << 26)
    ),
    "packed, with no end": lambda found: packed(found)[:-2000],
    "no end": lambda found: packed(found, mode="w")[:-20_000],
    "a text": lambda _: b"apiVersion: v1\n" * 100,
    "zeros": lambda _: gzip.compress(bytes(1 << 26)),
    "others": lambda _: packed({"README.md": b"x", "namespaces": b"x"}),
    "no times": lambda found: packed({path: raw for path, raw in found.items() if "timestamp" not in path}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_cannot_be_used_is_one_line(tmp_path: pathlib.Path, capsys: Capture, kind: str) -> None:
    """In bounded memory, and nothing is written."""
    source = _written(tmp_path, HOSTILE[kind](lived("idle")[2]))
    tracemalloc.start()
    try:
        code = main.main(["plan", "--must-gather", source])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    printed = capsys.readouterr()
    assert (code, printed.out, len(printed.err.splitlines())) == (errors.ExitCode.USAGE, "", 1), printed.err
    assert f"--must-gather: {source}: " in printed.err
    assert most < 32 << 20
    assert [*tmp_path.rglob("*")] == [pathlib.Path(source)]


@given(cut=st.integers(0, 60_000), replaced=st.binary(max_size=600), packing=st.sampled_from(["w", "w:gz"]))
def test_of_an_archive_that_is_damaged_anywhere_no_error_escapes(cut: int, replaced: bytes, packing: str) -> None:
    whole = packed(lived("idle")[2], mode=packing)
    with tempfile.TemporaryDirectory() as folder:
        source = _written(pathlib.Path(folder), whole[:cut] + replaced + whole[cut + len(replaced) :])
        try:
            assert _read(source)["plan"]["verdict"] in {"Possible", "CannotTell", "Blocked"}
        except errors.InputError:
            event("refused")
