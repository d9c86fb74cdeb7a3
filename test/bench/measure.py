"""The measurements, in an order in which none disturbs what comes later.

How fast: from a request, or from the last fact that was missing, to the change that somebody else sees. Each trial
begins when everything has been quiet for a moment. What it costs: memory is resident memory of the whole process; what
happens less than once in the time that is watched (watches that end after 45 to 60 minutes, the hourly look at what
could be asked for) is added from the figures that the operator itself uses, and the note says which part is which.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_controller import discover
from topology_controller.kube import watch
from topology_controller.observe import catalog
from topology_simulator import kinds

from . import figures, processes, servers, side

if TYPE_CHECKING:
    import pathlib

Found = dict[str, figures.Figure]
NODES, MANY = 500, 2000
FOR_P99 = 50
"""Trials. Of fewer the p99 is the longest one, which is what else the machine did just then: shown, not judged."""
_WARM_UP = 3
_CHANGE_SECONDS = 15.0
START, WORKERS = "start_to_first_decision_s", "rss_2000_workers_extra_mib"
RSS_IDLE, RSS_PENDING, RSS_AFTER = "rss_idle_mib", "rss_pending_mib", "rss_after_thirty_transitions_mib"
REQUESTS, WRITES, CPU = "idle_requests_per_hour", "idle_writes", "idle_cpu_seconds_per_minute"
DESIRED = ("request_to_change_p50", "request_to_change_p99")
FACT = ("last_fact_to_change_p50", "last_fact_to_change_p99")
LOADED = ("last_fact_to_change_500_nodes_p50", "last_fact_to_change_500_nodes_p99")
NINE, BESIDE_NINE = "nine_requests_p50", ("request_to_change_of_nine", "last_fact_to_change_of_nine")
IDLE = (RSS_IDLE, REQUESTS, WRITES, CPU)
ALL = (NINE, *DESIRED, *FACT, *BESIDE_NINE, *LOADED, START, *IDLE, RSS_PENDING, RSS_AFTER, WORKERS)
TARGETS = {
    # Twice what two quiet cores took, against the slower of both servers.
    DESIRED[0]: 300.0, DESIRED[1]: 600.0, FACT[0]: 220.0, FACT[1]: 450.0, LOADED[0]: 520.0, LOADED[1]: 940.0,
    START: 1.6, BESIDE_NINE[0]: 12.0, BESIDE_NINE[1]: 9.0,
    RSS_IDLE: 64.0, RSS_AFTER: 64.0, WORKERS: 5.0, REQUESTS: 40.0, WRITES: 0.0, CPU: 0.12,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sizes:
    """How often and for how many seconds."""

    starts: int
    trials: int
    idle: float


LONG = Sizes(starts=7, trials=80, idle=40.0)
# Five minutes: bookmarks, renewals and whatever else comes by the minute show in them.
LONG_REAL = dataclasses.replace(LONG, idle=300.0)
SHORT = Sizes(starts=3, trials=15, idle=6.0)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how much of everything, and where files go."""

    sizes: Sizes
    folder: pathlib.Path
    apiserver: str = "embedded"

    def say(self, text: str) -> None:
        """Tell what is being done; standard output is for the table."""
        sys.stderr.write(f"{text}\n")


async def measure(run: Run) -> Found:
    """Measure everything. Raises BenchError and whatever the server raises."""
    async with servers.opened(run.apiserver, run.folder) as server, side.opened(server) as cluster:
        found = await _start(cluster, run) | await _nine(cluster, run) | await _quiet(cluster, run)
        for ratio, (ours, _) in zip(BESIDE_NINE, (DESIRED, FACT), strict=True):
            took, nine = found[ours].value, found[NINE].value
            found |= _figure(ratio, took / nine if took and nine else None, "times", "in this run")
        found |= await _crowded(cluster, run, found[RSS_PENDING].value or 0.0)
    return {name: found[name] for name in ALL}


def _figure(name: str, value: float | None, unit: str, note: str) -> Found:
    return {name: figures.Figure(value=value, unit=unit, target=TARGETS.get(name), note=note)}


async def _start(cluster: side.Side, run: Run) -> Found:
    """From exec until ClusterOperator `topology`, deleted before, has been written."""
    run.say(f"start, {run.sizes.starts} times")
    took = []
    for _ in range(run.sizes.starts + 1):
        await cluster.forget_report()
        command = processes.operator_command(cluster.server.operator)
        began = time.perf_counter()
        async with processes.running(command, run.folder / "start.log"):
            took.append(await cluster.reported() - began)
    counted = took[1:]
    note = f"median of {len(counted)}, {min(counted):.2f} to {max(counted):.2f}; bytecode compiled, one start before"
    return _figure(START, figures.quantile(counted, 0.5), "s", note)


async def _nine(cluster: side.Side, run: Run) -> Found:
    """What OpenShift's controller sends for a transition, one after the other, by a client that does nothing else.

    Three conditions of its own are written and repeated in its ClusterOperator, an event is made, Infrastructure read
    and written (cluster-config-operator pkg/operator/topology_transition_controller, pull request 495). Annotations
    and a ConfigMap stand for conditions and the event: nothing that the operator reads is changed.
    """
    api, took = cluster.api, []
    for trial in range(_WARM_UP + run.sizes.trials):
        began = time.perf_counter()
        for number in range(3):
            mark = {"metadata": {"annotations": {"bench": f"{trial}-{number}"}}}
            await api.patch(kinds.CONFIGS, "cluster", mark)
            await api.patch(kinds.CLUSTER_OPERATORS, "etcd", mark)
        await api.create(kinds.CONFIG_MAPS, {"metadata": {"name": f"bench-{trial}", "namespace": "default"}})
        infrastructure = await api.get(kinds.INFRASTRUCTURES, "cluster")
        infrastructure["status"]["etcdDiscoveryDomain"] = f"{trial}.example.com"
        await api.put(kinds.INFRASTRUCTURES, infrastructure, "status")
        took.append((time.perf_counter() - began) * 1000)
    return _figure(NINE, figures.quantile(took[_WARM_UP:], 0.5), "ms", "what a change costs a client that sends nine")


async def _quiet(cluster: side.Side, run: Run) -> Found:
    """With three nodes: what one operator costs idle, how fast it is, and what it keeps after many transitions."""
    count = run.sizes.trials
    async with cluster.operator(run.folder) as pid:
        found = _figure(RSS_IDLE, processes.rss_mib(pid), "MiB", "after discovery")
        run.say(f"idle, {run.sizes.idle:g} s")
        found |= await _idle(cluster, pid, run.sizes.idle)
        await cluster.renew_lease()
        found |= await _pending(cluster, pid, RSS_PENDING, "the first request")
        await cluster.to_idle()
        run.say(f"request to change and last fact to change, {count} trials each")
        found |= _latency(DESIRED, await _trials(cluster, "desired", count), "3 nodes")
        found |= _latency(FACT, await _trials(cluster, "fact", count), "3 nodes")
        found |= await _pending(cluster, pid, RSS_AFTER, f"after {2 * (count + _WARM_UP)} transitions")
        await cluster.to_idle()
    return found


async def _pending(cluster: side.Side, pid: int, name: str, note: str) -> Found:
    """Resident memory with a request that one missing fact keeps Pending."""
    await cluster.to_pending()
    await cluster.settled()
    return _figure(name, processes.rss_mib(pid), "MiB", f"a request Pending, {note}")


async def _idle(cluster: side.Side, pid: int, seconds: float) -> Found:
    """Requests, writes and CPU while nothing is wanted and nothing changes."""
    began, used = time.time(), processes.cpu_seconds(pid)
    await asyncio.sleep(seconds)
    used = processes.cpu_seconds(pid) - used
    asked = servers.of_operator(await cluster.server.requests(began))
    timing = watch.Timing()
    # Each is followed by a list of one object: has the store reached the version from which it was opened again?
    watches = len(catalog.IDLE) + 1  # a single node's etcd-endpoints
    reopened = 2 * watches * 3600 / ((timing.shortest + timing.longest) / 2)
    looked = (len(catalog.evidence()) + 1) * 3600 / discover.PERIOD
    requests = f"{len(asked)} seen in {seconds:g} s; computed: {watches} watches opened again and judged, "
    requests += f"{reopened:.1f}/h, and {looked:.0f}/h for what could be asked for; the lease is not counted"
    writes = float(sum(one.verb in servers.WRITES for one in asked))
    return (
        _figure(REQUESTS, len(asked) * 3600 / seconds + reopened + looked, "requests/h", requests)
        | _figure(WRITES, writes, "writes", f"in {seconds:g} s, the lease not counted")
        | _figure(CPU, used * 60 / seconds, "s/min", f"{used * 1000:.0f} ms in {seconds:g} s, nothing changes")
    )


async def _trials(cluster: side.Side, what: str, count: int) -> list[float]:
    """Milliseconds from what is `desired`, or from the last `fact`, to the change; after a few that are not counted."""
    took = []
    for _ in range(_WARM_UP + count):
        await (cluster.to_idle() if what == "desired" else cluster.to_pending())
        # It counts for five minutes.
        await cluster.renew_lease()
        began = time.perf_counter()
        await (cluster.ask_for(side.DESIRED) if what == "desired" else cluster.fact(there=True))
        ended = await cluster.lookout.until(cluster.changed, f"the change after a {what}", _CHANGE_SECONDS)
        took.append((ended - began) * 1000)
    return took[_WARM_UP:]


def _latency(names: tuple[str, str], took: list[float], where: str) -> Found:
    note, few = f"{len(took)} trials, {where}", len(took) < FOR_P99
    found = _figure(names[0], figures.quantile(took, 0.5), "ms", note)
    found |= _figure(names[1], figures.quantile(took, 0.99), "ms", note)
    if few:
        shown = f"{note}; not judged by fewer than {FOR_P99}"
        found[names[1]] = dataclasses.replace(found[names[1]], target=None, note=shown)
    return found


async def _crowded(cluster: side.Side, run: Run, before: float) -> Found:
    """With 500 nodes how fast, with 2,000 workers how much memory more; the definition is the one for workers."""
    run.say(f"{NODES} nodes, {run.sizes.trials} trials")
    await cluster.add_workers(0, NODES - side.MEMBERS)
    async with cluster.operator(run.folder):
        found = _latency(LOADED, await _trials(cluster, "fact", run.sizes.trials), f"{NODES} nodes")
        await cluster.to_idle()
    run.say(f"{MANY} workers")
    await cluster.add_workers(NODES - side.MEMBERS, MANY)
    async with cluster.operator(run.folder) as pid:
        rss = (await _pending(cluster, pid, RSS_PENDING, ""))[RSS_PENDING].value or 0.0
    note = f"a request Pending: {before:.1f} without workers, {rss:.1f} with"
    return found | _figure(WORKERS, rss - before, "MiB", note)
