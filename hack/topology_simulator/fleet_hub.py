"""A hub with one managed cluster, as far as `oc topology fleet` and the alerts of a fleet need it.

No engine of a fleet runs here: the survey's own expression, as the product prints it, is evaluated for the one cluster
and written where the work agent writes it. The kubeconfig of the box gets a second context, `hub`, the current one.
"""

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import yaml
from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed

from . import box, client, conditions, install, kinds, kubeconfig, own_objects, probes
from . import opened as parts
from .apiserver import cel as rules
from .apiserver import server

CONTEXT = "hub"
_POLL_SECONDS = 0.5
_LIST = pathlib.Path(__file__).parents[2] / "bindata" / "fleet" / "observability-metrics-custom-allowlist.yaml"
_CLUSTERS = kinds.Kind("cluster.open-cluster-management.io", "managedclusters", "ManagedCluster")
_WORKS = kinds.Kind("work.open-cluster-management.io", "manifestworks", "ManifestWork", namespaced=True)
_SETS = "ManifestWorkReplicaSet"
_OBSERVABILITY = "open-cluster-management-observability"


class Hub:
    """A hub that is open."""

    def __init__(self, api: client.Client, target: client.Client, survey: dict[str, Any]) -> None:
        self._api = api
        self._target = target
        self._survey = survey

    async def collected(self) -> set[str]:
        """Return the names of the series that the hub collects besides its own list. Raises ClientError."""
        listed = await self._api.find(kinds.CONFIG_MAPS, "observability-metrics-custom-allowlist", _OBSERVABILITY)
        return set(yaml.safe_load((listed or {}).get("data", {}).get("metrics_list.yaml", "names: []"))["names"] or [])

    async def install(self, *, collects: bool) -> None:
        """Make the managed cluster, its survey, and the list of what is collected. Raises ClientError."""
        for name in (box.CONTEXT, _OBSERVABILITY):
            await self._api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))
        await self._api.create(_CLUSTERS, _CLUSTERS.new(box.CONTEXT, spec={"hubAcceptsClient": True}))
        available = {"conditions": conditions.written(conditions.stated("reachable"))}
        await self._api.patch_status(_CLUSTERS, box.CONTEXT, available)
        name, namespace = (self._survey["metadata"][key] for key in ("name", "namespace"))
        work = _WORKS.new(name, box.CONTEXT, spec=self._survey["spec"]["manifestWorkTemplate"])
        work["metadata"]["labels"] = {f"{_WORKS.group}/manifestworkreplicaset": f"{namespace}.{name}"}
        await self._api.create(_WORKS, work)
        if collects:
            await self._api.create(kinds.CONFIG_MAPS, yaml.safe_load(_LIST.read_text(encoding="utf-8")))

    async def report(self) -> None:
        """Write what the survey says of the cluster, again and again."""
        name, reported = self._survey["metadata"]["name"], None
        rule, *_ = self._survey["spec"]["manifestWorkTemplate"]["manifestConfigs"]
        (state,) = rule["conditionRules"]
        program = cel.NewEnv(variables={"object": cel.Type.DYN}, extensions=rules.EXTENSIONS).compile(
            state["messageExpression"]
        )
        paths = [(path["name"], path["path"].lstrip(".")) for path in rule["feedbackRules"][0]["jsonPaths"]]
        while True:
            with contextlib.suppress(client.ClientError):
                infrastructure = await self._target.get(kinds.INFRASTRUCTURES, "cluster")
                message = str(program.eval(data={"object": infrastructure}).value())
                values = [
                    {"name": key, "fieldValue": {"type": "String", "string": str(value)}}
                    for key, path in paths if (value := probes.pick(infrastructure["status"], path)) is not None
                ]  # fmt: skip
                if (message, values) != reported:
                    judged = conditions.Condition(state["condition"], "True", "Evaluated", message)
                    entry = {
                        "resourceMeta": {"kind": "Infrastructure", "name": "cluster"},
                        "conditions": conditions.written([judged]),
                        "statusFeedback": {"values": values},
                    }
                    status = {"resourceStatus": {"manifests": [entry]}}
                    await self._api.patch_status(_WORKS, name, status, box.CONTEXT)
                    reported = message, values
            await asyncio.sleep(_POLL_SECONDS)


@contextlib.asynccontextmanager
async def opened(target: box.Box, *, collects: bool) -> AsyncIterator[Hub]:
    """Open a hub for the cluster of a box. Raises ClientError, ManifestsError."""
    printed = await own_objects.printed("fleet", "work", "--to", "HighlyAvailable")
    (survey,) = [
        obj for obj in yaml.safe_load_all(printed)
        if obj and obj["kind"] == _SETS and obj["metadata"]["name"] == "topology-survey"
    ]  # fmt: skip
    simulated = server.ApiServer(crds=[install.of_anything(kind, status={}) for kind in (_CLUSTERS, _WORKS)])
    await simulated.start()
    try:
        access = kubeconfig.content(simulated.url, name=CONTEXT)
        async with client.Client(kubeconfig.access(access), strict=True) as api:
            fleet = Hub(api, target.api, survey)
            await fleet.install(collects=collects)
            edge = yaml.safe_load(target.kubeconfig.read_text())
            kubeconfig.write(target.kubeconfig, kubeconfig.joined(access, edge))
            async with parts.running(fleet.report()):
                yield fleet
    finally:
        await simulated.stop()
