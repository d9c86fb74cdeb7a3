"""OpenShift's own definitions keep what the simulator puts into a cluster: nothing is refused, nothing pruned.

Each object is written to the real API server and read back; what the server adds (defaults, metadata) is its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import install, kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test.component import real

SHAPES = {
    "a single node": simulated.Shape(registry="Managed", router_replicas=1),
    "three masters, workers and custom pools": simulated.Shape(
        control_plane="HighlyAvailable",
        infrastructure="HighlyAvailable",
        masters=3,
        machines=3,
        workers=2,
        schedulable=False,
        registry="Managed",
        registry_replicas=2,
        pools=(simulated.CustomPool(name="canary", machines=1, paused=True), simulated.CustomPool(name="empty")),
        platform="BareMetal",
    ),
    "an arbiter": simulated.Shape(control_plane="HighlyAvailableArbiter", masters=3),
    "a hosted cluster": simulated.Shape(hosted=True),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_every_object_of_a_cluster_is_kept_as_it_was_written(
    real_server: real.Session, shape: simulated.Shape
) -> None:
    await real_server.wipe()
    async with clients.Client(real_server.access(), "administrator") as api:
        await install.populate(api, shape)
        theirs = [obj for obj in simulated.objects(shape) if ".openshift.io/" in obj["apiVersion"]]
        lost = [text for obj in theirs for text in await _lost(api, obj)]
    assert not lost, "\n".join(lost)


async def _lost(api: clients.Client, obj: dict[str, Any]) -> list[str]:
    kind, meta = kinds.of(obj), obj["metadata"]
    seen = await api.get(kind, meta["name"], meta.get("namespace", ""))
    return [f"{kind.plural}/{meta['name']}{text}" for text in differences(obj, seen)]


def differences(wanted: Any, seen: Any, path: str = "") -> Iterator[str]:
    """Yield what of `wanted` is not in `seen`; what is in `seen` alone does not count, an empty part neither."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        for name, value in wanted.items():
            if name in seen or value not in (None, {}, []):
                yield from differences(value, seen.get(name), f"{path}.{name}")
    elif isinstance(wanted, list) and isinstance(seen, list) and len(wanted) == len(seen):
        for number, (one, other) in enumerate(zip(wanted, seen, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif wanted != seen and not _is_time(path):
        yield f"{path}: wrote {wanted!r}, read {seen!r}"


def _is_time(path: str) -> bool:
    return path.endswith(("Time", "Timestamp"))


@pytest.mark.parametrize(
    ("wanted", "seen", "said"),
    [
        ({"a": 1}, {"a": 1, "default": 2}, []),
        ({"a": {"b": 1}}, {"a": {}}, [".a.b: wrote 1, read None"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [".a[0].b: wrote 1, read 2"]),
        ({"a": [1]}, {"a": []}, [".a: wrote [1], read []"]),
        ({"a": None}, {}, []),
    ],
)
def test_what_was_pruned_is_found(wanted: Any, seen: Any, said: list[str]) -> None:
    assert list(differences(wanted, seen)) == said
