"""What the actors write in story `calm` of the lab, compared with what the real operators wrote in it."""

from __future__ import annotations

import asyncio
import fnmatch

import yaml

from lab import operators, recorded
from topology_deploy import manifests
from topology_simulator import cluster, kinds

KNOWN = yaml.safe_load((operators.HERE / "recorded" / "known.yaml").read_text())


def differences(theirs, played):
    """Yield where the objects of a recording take another course than it says: fields, values, their order in each."""
    objects = {name for _, name, _ in theirs}
    for line in {**theirs, **{line: played[line] for line in played if line[1] in objects and line[0] != "start"}}:
        if theirs.get(line) != played.get(line):
            yield f"{' | '.join(line)}: really {theirs.get(line)}, here {played.get(line)}"
    both = [line for line in theirs if line in played]
    for place in dict.fromkeys(line[:2] for line in both):
        real, here = ([line[2] for line in course if line[:2] == place and line in both] for course in (theirs, played))
        if real != here:
            yield f"{' | '.join(place)}: really in the order {real}, here {here}"


async def follow(living, course, kind):
    async for obj, _ in living.api.states(kind, retry_seconds=0.1):
        if kind is not kinds.CONFIG_MAPS or obj["metadata"]["name"] == cluster.ETCD_ENDPOINTS:
            course.take(kind.plural, obj)


async def test_actors_write_what_the_real_operators_wrote(running):
    course, theirs = recorded.Course(), recorded.read("calm")

    def found(*events):
        return [text for text in differences(theirs, course.values[""]) if text.startswith(events)]

    async def unknown(*events):
        return [text for text in found(*events) if not any(fnmatch.fnmatch(text, known) for known in KNOWN)]

    async with running(version="4.22.5") as living:
        await living.api.create(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new("topology", spec={}, status={}))
        await living.api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"overrides": [manifests.OVERRIDE]}})
        await living.eventually(lambda: living.condition(kinds.CLUSTER_VERSIONS, "version", "Upgradeable"), "False")
        kept = (kinds.INFRASTRUCTURES, *map(kinds.named, recorded.FIELDS))
        following = asyncio.gather(*(follow(living, course, kind) for kind in kept))
        await living.join("master-1", "master-2")
        await living.eventually(lambda: unknown("join"), [])
        await living.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "HighlyAvailable"}})
        await living.object_to("topology", "Wait until the transition is complete")
        await living.eventually(lambda: unknown("request"), [])
        await living.change()
        await living.eventually(lambda: unknown("change"), [])
        await asyncio.sleep(0.5)  # for what is written too much
        following.cancel()
    assert await unknown("") == []
    lasting = [known for known, why in KNOWN.items() if not why.startswith("now and then")]
    gone = [known for known in lasting if not fnmatch.filter(found(""), known)]
    assert gone == [], "it is no difference any more"


def test_a_difference_is_one_of_kind_or_of_order():
    real = {("join", "pod/a", "x"): ["1"], ("join", "pod/a", "y"): ["2"]}
    strange = {("join", "pod/b", "x"): ["1"], ("start", "pod/a", "x"): ["0"]}
    assert list(differences(real, real | strange)) == []
    turned = dict(reversed(real.items()))
    assert list(differences(real, turned)) == ["join | pod/a: really in the order ['x', 'y'], here ['y', 'x']"]
    wrong = {("join", "pod/a", "x"): ["1", "0"], ("change", "pod/a", "x"): ["1"]}
    assert list(differences(real, wrong)) == [
        "join | pod/a | x: really ['1'], here ['1', '0']",
        "join | pod/a | y: really ['2'], here None",
        "change | pod/a | x: really None, here ['1']",
    ]
