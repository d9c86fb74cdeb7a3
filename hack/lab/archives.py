"""What `oc adm must-gather` brings of a cluster in a box, packed for the tests of `--must-gather`, and live answers.

A box has no pods, so no image runs: what must-gather's script inspects is read from its sources, and inspected from
here, as it does it and laid out as `oc adm must-gather` does (openshift/oc pkg/cli/admin/mustgather/mustgather.go).
Left away is what is neither read nor part of the layout: events, pods' logs, kinds of Kubernetes.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import tarfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib

    from .trials import Shell

IMAGE = "quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-" + "5" * 64
QUESTIONS = ("status", "plan", "plan HighlyAvailable", "audit")
LARGEST = 150 << 10
"""Bytes of a packed archive."""
_SECONDS = 600.0
_LISTS = re.compile(r"^(named_resources|group_resources|all_ns_resources)\+=\(([^)]*)\)", re.MULTILINE)


async def record(shell: Shell, script: str, folder: pathlib.Path, place: pathlib.Path) -> str:
    """Collect into a folder; write PLACE.tar.gz, and PLACE.json with what `oc topology` answers live.

    Returns a line about both. Raises ValueError where the script has another form, or the archive is too large.
    """
    wanted: dict[str, list[str]] = {}
    for name, words in _LISTS.findall(script):
        wanted.setdefault(name, []).extend(words.split())
    if len(wanted) != 3:
        raise ValueError("must-gather's script lists what it inspects in another way")
    root = folder / "must-gather"
    root.mkdir(parents=True)
    (root / "version").write_text("openshift/must-gather\n0.0.0-unknown\n")
    begun = datetime.now(UTC)
    kinds = [line.split() for line in (await shell.run("oc api-resources --no-headers")).printed.splitlines()]
    names = {name for words in kinds for name in (words[0], f"{words[0]}.{words[-3]}".split("/")[0], words[-1].lower())}
    served = [kind for kind in wanted["group_resources"] if kind in names]
    inspects = (
        " ".join(wanted["named_resources"]),
        ",".join(served),
        f"{','.join(wanted['all_ns_resources'])} --all-namespaces",
    )
    inspect = f"cd {folder} && oc adm inspect --dest-dir must-gather --rotated-pod-logs"
    ended = await asyncio.gather(*(shell.run(f"{inspect} {what}", _SECONDS) for what in inspects))
    # 1: something that is related does not exist; the archive is good anyway.
    if any(inspection.code not in {0, 1} for inspection in ended):
        raise ValueError(f"oc adm inspect did not come to its end: {ended[0].complaint}{ended[1].complaint}")
    live = {
        question: json.loads((await shell.run(f"oc topology {question} -o json")).printed) for question in QUESTIONS
    }
    lines = [line for part in ended for line in (part.printed + part.complaint).splitlines()]
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"
    (root / "gather.logs").write_text("".join(f"{stamp} {line}\n" for line in lines))
    moments = "".join(f"{moment:%Y-%m-%d %H:%M:%S.%f}000 +0000 UTC m=+0.1\n" for moment in (begun, datetime.now(UTC)))
    packed = _packed(root, {"timestamp": moments, "must-gather.logs": "".join(f"{line}\n" for line in lines)})
    if len(packed) > LARGEST:
        raise ValueError(f"{place.name}: {len(packed)} bytes, at most {LARGEST} are wanted")
    place.with_suffix(".tar.gz").write_bytes(packed)
    place.with_suffix(".json").write_text(json.dumps(live, indent=1, sort_keys=True) + "\n")
    codes = ", ".join(str(part.code) for part in ended)
    return f"{place.name}.tar.gz: {len(packed) >> 10} KiB; oc adm inspect ended with {codes}"


def _packed(root: pathlib.Path, beside: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, text in beside.items():
            member = tarfile.TarInfo(f"must-gather.local.1/{name}")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
        for path in sorted(file for file in root.rglob("*") if file.is_file()):
            member = tarfile.TarInfo(f"must-gather.local.1/{IMAGE}/{path.relative_to(root)}")
            member.size, member.mtime = path.stat().st_size, int(path.stat().st_mtime)
            tar.addfile(member, io.BytesIO(path.read_bytes()))
    return out.getvalue()
