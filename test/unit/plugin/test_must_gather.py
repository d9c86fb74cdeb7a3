"""`--must-gather`: the answers of a cluster, from what was collected of it; and what is no such archive.

The archives are those of a cluster in a box on a real API server, by the real `oc adm inspect` in the way of
must-gather's own script, in five states; beside each is what `oc topology` answered live. `make lab CLIENT=oc RECORD=1`
writes them.
"""

from __future__ import annotations

import asyncio
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

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from kubectl_topology import answers, errors, main, must_gather
from kubectl_topology import cluster as connected
from kubectl_topology.commands import audit, plan, status
from topology_api import vocabulary
from topology_controller.definitions import operands

from ..core import worlds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

Files = dict[str, bytes]
Capture = pytest.CaptureFixture[str]
ARCHIVES = pathlib.Path(__file__).parent / "archives"
VERDICTS = {
    "idle": "Idle, Blocked", "pending": "Pending, Blocked", "converging": "Converging, UnderWay",
    "stuck": "Converging, UnderWay", "completed": "Completed, Fulfilled",
}  # fmt: skip
TRANSITIONS, NAMESPACE = worlds.TRANSITIONS, vocabulary.DEFAULT_NAMESPACE
_AGE = re.compile(r"(?<=\"evaluated\": )\"[^\"]*\"|\b\d+ (?:s|min)\b")
_BY_WHOM = re.compile(rb"(?m)^( *)managedFields:\n(?:\1[- ] .*\n)+")


@functools.cache
def collected(state: str) -> Files:
    """Every file by its path, without definitions of kinds, which nobody reads, and who wrote which field."""
    with tarfile.open(ARCHIVES / f"{state}.tar.gz") as tar:
        files = ((one.name, tar.extractfile(one)) for one in tar if "/customresourcedefinitions/" not in one.name)
        return {name: _BY_WHOM.sub(b"", file.read()) for name, file in files if file}


ROOT = next(path for path in collected("idle") if path.endswith("/version")).removesuffix("version")
NODES, CONFIG = (f"{ROOT}cluster-scoped-resources/{group}/" for group in ("core/nodes", "config.openshift.io"))


@pytest.fixture(autouse=True, scope="module")
def _each_content_is_parsed_once() -> Iterator[None]:
    """Examples leave most files of an archive as they are, and parsing these is most of the work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(must_gather, "_parsed", functools.cache(must_gather._parsed.__wrapped__))
        yield


@functools.cache
def whole(state: str) -> dict[str, Any]:
    """The answers to all that was collected."""
    return _read(str(ARCHIVES / f"{state}.tar.gz"))


def packed(found: Files, *more: tarfile.TarInfo, mode: Any = "w:gz") -> bytes:
    """An archive of these files, and of members without content."""
    out = io.BytesIO()
    quick: dict[str, Any] = {"compresslevel": 1} if mode == "w:gz" else {}
    with tarfile.open(fileobj=out, mode=mode, **quick) as tar:
        for path, content in found.items():
            tar.addfile(_member(path, size=len(content)), io.BytesIO(content))
        for member in more:
            tar.addfile(member)
    return out.getvalue()


def _member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, "/etc/passwd" if kind != tarfile.REGTYPE else ""
    return member


def _answers(client: Any, now: datetime) -> dict[str, Any]:
    """What every verb that reads answers, and the facts."""

    async def asked() -> Any:
        at = connected.Connection(client, "here", collected=now)
        whole = await connected.everything(at, TRANSITIONS)
        return whole.known, {
            "plan": plan.target(whole, TRANSITIONS, "HighlyAvailable")[0],
            "ways": plan.overview(await connected.overview(at, TRANSITIONS), TRANSITIONS),
            "status": status.answer(await connected.present(at, TRANSITIONS), TRANSITIONS),
            "audit": audit.audit(await connected.census(at, TRANSITIONS), TRANSITIONS)[0],
        }

    known, found = asyncio.run(asked())
    return {**json.loads(json.dumps(found)), "known": known}


def _written(folder: pathlib.Path, content: bytes | Files) -> str:
    for path, raw in (content if isinstance(content, dict) else {"x": content}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(raw)
    return str(folder if isinstance(content, dict) else folder / "x")


def _read(source: str) -> dict[str, Any]:
    archive = must_gather.read(source, TRANSITIONS, NAMESPACE)
    return _answers(archive, archive.time)


def _lasting(answer: dict[str, Any]) -> str:
    """An answer without when it was asked for, and by what name the command was called."""
    text = json.dumps(answer, sort_keys=True).replace("kubectl-topology", "oc topology").replace("kubectl", "oc")
    return _AGE.sub("<age>", text)


@pytest.mark.parametrize("state", VERDICTS)
def test_the_answers_are_those_of_the_cluster(capsys: Capture, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    matrix, paths = operands.shipped(), "".join(collected(state))
    # A group in a namespace that no archive has yet is younger than they are.
    known = [group for group in matrix.groups if all(f"/{one.namespace or ''}" in paths for one in group.operands)]
    monkeypatch.setattr(operands, "shipped", lambda: matrix.model_copy(update={"groups": tuple(known)}))
    for question, live in json.loads((ARCHIVES / f"{state}.json").read_text()).items():
        main.main([*question.split(), "--must-gather", str(ARCHIVES / f"{state}.tar.gz"), "-o", "json"])
        assert _lasting(json.loads(capsys.readouterr().out)) == _lasting(live), question
    assert f"{whole(state)['status']['phase']}, {whole(state)['plan']['verdict']}" == VERDICTS[state]


def test_a_folder_and_a_tar_are_read_as_well(tmp_path: pathlib.Path) -> None:
    found = collected("stuck")
    first, *others = (_read(_written(tmp_path, content)) for content in (packed(found), packed(found, mode="w"), found))
    assert others == [first] * 2


JUNK = (b"", b"\0", b"a: [", b"- 1", b"a: &a {b: *a}", b"[" * 100_000, b"a: 1\n---\nb: 1\n", b"metadata: {name: x}")


@given(data=st.data(), state=st.sampled_from([*VERDICTS]), short=st.booleans())
def test_what_is_not_there_is_unknown_and_named_and_moves_nothing_else(
    data: st.DataObject, state: str, *, short: bool
) -> None:
    """Kinds are missing or broken, where inspect was cut `short` and where it was not."""
    found = {**collected(state), **({f"{ROOT}gather.logs": b""} if short else {})}
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
    live = whole(state)
    event(shown["plan"]["verdict"])
    for fact in [fact for name in ("plan", "ways", "status", "audit") for fact in shown[name]["unread"]]:
        assert fact["why"] == must_gather.NOT_COLLECTED or fact["why"].startswith("malformed"), fact
    for check, before in zip(shown["plan"]["checks"], live["plan"]["checks"], strict=False):
        assert check == before or check["status"] == "Unknown"
    assert shown["plan"]["verdict"] in {live["plan"]["verdict"], "CannotTell"}


ENDED = b"Wrote inspect data to must-gather.\n"
FAILED = b"skipping gathering machineconfigpools.machineconfiguration.openshift.io due to\n" + ENDED * 3
RELATING = tuple(f"{CONFIG}clusteroperators/{name}.yaml" for name in ("topology", "machine-config"))


@pytest.mark.parametrize(
    ("names", "content"),
    [
        ([f"{ROOT}version"], b"x"),
        ([f"{ROOT}gather.logs"], FAILED),
        ([f"{ROOT}gather.logs"], b""),
        ([f"{ROOT}gather.logs"], ENDED * 4),
        (RELATING, b""),
    ],
    ids=["nothing failed", "a failure", "no end", "another end", "what relates it was not inspected"],
)
def test_none_is_believed_where_inspect_came_to_its_end(
    tmp_path: pathlib.Path, names: tuple[str, ...], content: bytes
) -> None:
    found = {path: raw for path, raw in collected("idle").items() if "/machineconfigpools/" not in path}
    pools = _read(_written(tmp_path, packed(found | dict.fromkeys(names, content))))["known"].machine_config_pools
    assert getattr(pools, "why", pools) == (() if content == b"x" else must_gather.NOT_COLLECTED)


def test_ages_count_from_the_leases_and_older_files_are_named(tmp_path: pathlib.Path, capsys: Capture) -> None:
    """An earlier run left files in the folder, then one of ten minutes read the Leases; another image came before."""
    found, now = dict(collected("idle")), must_gather.read(str(ARCHIVES / "idle.tar.gz"), TRANSITIONS, NAMESPACE).time
    before, renewed = now - timedelta(days=2), answers.stamp(now + timedelta(minutes=5))
    times = (before, before, now, now + timedelta(minutes=10))
    found[f"{ROOT}timestamp"] = "".join(f"{time:%Y-%m-%d %H:%M:%S}.5 +0000 UTC m=+0.1\n" for time in times).encode()
    lease = next(path for path in found if path.endswith("/leases/cluster-topology-operator.yaml"))
    found[lease] = re.sub(rb"(renewTime: ).*", rf'\1"{renewed}"'.encode(), found[lease])
    path = "cluster-scoped-resources/config.openshift.io/infrastructures.yaml"
    older = re.sub(rb'(resourceVersion: )"\d+"', rb'\1"1"', found[ROOT + path])
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
    source = _written(tmp_path, HOSTILE[kind](collected("idle")))
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
    whole = packed(collected("idle"), mode=packing)
    with tempfile.TemporaryDirectory() as folder:
        source = _written(pathlib.Path(folder), whole[:cut] + replaced + whole[cut + len(replaced) :])
        try:
            assert _read(source)["plan"]["verdict"] in {"Possible", "CannotTell", "Blocked"}
        except (errors.InputError, errors.PluginError) as error:
            # Of the latter kind where Infrastructure itself is damaged.
            event(type(error).__name__)
