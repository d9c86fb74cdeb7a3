"""What the operator's manifests bring to a kept cluster, and the pod in which its process seems to run.

`apply` creates them, and a ClusterRole `cluster-reader` as OpenShift has it. `OwnPod` shows the process as a pod of the
Deployment: deleted, it comes back with a new process, a Deployment without replicas has none, and a process that ends
stays ended: nothing here repairs it.
"""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Callable, Collection
from typing import Any

import yaml

from . import SimulatorError, binaries, client, conditions, install, kinds, machines, operator_process

NAMESPACE, NAME = "openshift-topology-operator", "cluster-topology-operator"
LOG = "topology-simulator/log"
"""Annotation of the pod: the file with what the process logs."""
_CAPABILITY = "capability.openshift.io/name"
_POLL_SECONDS = 0.2
_READER = "cluster-reader"
_TOKENS = kinds.Kind("", f"serviceaccounts/{NAME}/token", "TokenRequest", namespaced=True)
_TOKEN_SECONDS = 86400


class ManifestsError(SimulatorError):
    """The manifests could not be printed; the message is what the program complained of."""


async def apply(api: client.Client, without: Collection[str] = ()) -> None:
    """Create what the manifests have, but for capabilities that are disabled. Raises ManifestsError, ClientError."""
    for obj in yaml.safe_load_all(await printed("manifests")):
        if obj["metadata"].get("annotations", {}).get(_CAPABILITY) not in without:
            await install.create(api, obj)
    known = (*kinds.ALL, *kinds.OF_SITES)
    rule = {"apiGroups": sorted({kind.group for kind in known}), "verbs": ["get", "list", "watch"]}
    # Everything of these groups but Secrets, which OpenShift's does not read either.
    rule["resources"] = sorted({plural for kind in known for plural in (kind.plural, f"{kind.plural}/status")})
    # machine-config-operator manifests/clusterreader_clusterrole.yaml: it may ask what others may.
    ask = {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}
    await install.create(api, {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                        "metadata": {"name": _READER}, "rules": [rule, ask]})  # fmt: skip


async def printed(*command: str) -> str:
    """Return what the program prints that makes manifests. Raises ManifestsError."""
    code, output, complaint = await binaries.ran(sys.executable, "-m", "topology_deploy", *command)
    if code:
        raise ManifestsError(complaint.strip())
    return output


async def token(api: client.Client) -> str:
    """Have a token issued for the operator's account. Raises ClientError, also where the server issues none."""
    wanted: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    wanted |= {"metadata": {"namespace": NAMESPACE}, "spec": {"expirationSeconds": _TOKEN_SECONDS}}
    return str((await api.create(_TOKENS, wanted))["status"]["token"])


class OwnPod:
    """The pod of the operator's process. `run` until cancelled; `tell` gets a sentence when the process ends."""

    def __init__(self, api: client.Client, operator: operator_process.Operator, tell: Callable[[str], None]) -> None:
        self._api = api
        self._operator = operator
        self._tell = tell
        self._numbers = itertools.count()
        self._name = ""
        self._shown: object = None

    async def run(self) -> None:
        """Keep the pod as the Deployment wants it."""
        while True:
            with contextlib.suppress(client.ClientError):  # a real server may be away: it is looked at again
                await self._look()
            await asyncio.sleep(_POLL_SECONDS)

    async def _look(self) -> None:
        deployment = await self._api.find(kinds.DEPLOYMENTS, NAME, NAMESPACE)
        pod = await self._api.find(kinds.PODS, self._name, NAMESPACE) if self._name else None
        if deployment is None or not deployment["spec"].get("replicas", 1):
            if self._name:
                await self._operator.stop()
                if pod is not None:
                    await self._api.delete(kinds.PODS, self._name, NAMESPACE)
                self._name = ""
            ready = False
        else:
            if pod is None:
                pod = await self._replace(deployment)
            ready = await self._show(pod)
        if deployment is not None and self._shown != (ready, self._name):
            self._shown = ready, self._name
            count = {"replicas": bool(self._name), "readyReplicas": ready, "availableReplicas": ready}
            status = {"observedGeneration": deployment["metadata"]["generation"]}
            status |= {name: int(number) for name, number in count.items()}
            await self._api.patch_status(kinds.DEPLOYMENTS, NAME, status, NAMESPACE)

    async def _replace(self, deployment: dict[str, Any]) -> dict[str, Any]:
        """Make a new pod, with a new process unless it is the first."""
        number = next(self._numbers)
        if number:
            await self._operator.stop()
            if self._operator.returncode:
                # It could not give its lease back, and a successor would wait for minutes on a single node.
                released = {"spec": {"holderIdentity": ""}}
                await self._api.patch(kinds.LEASES, NAME, released, NAMESPACE)
            await self._operator.start()
        template = deployment["spec"]["template"]
        tail = machines.digest("pod", NAME, number)
        # No node: such a pod goes at once when it is deleted, and here is no kubelet to let it go.
        pod = kinds.PODS.new(f"{NAME}-{tail[:9]}-{tail[9:14]}", NAMESPACE, spec=template["spec"])
        pod["metadata"]["labels"] = template["metadata"]["labels"]
        pod["metadata"]["annotations"] = {LOG: str(self._operator.log)}
        stored = await self._api.create(kinds.PODS, pod)
        self._name = stored["metadata"]["name"]
        return stored

    async def _show(self, pod: dict[str, Any]) -> bool:
        """Let the pod say what the process does; return whether it runs."""
        code = self._operator.returncode
        runs = code is None
        status = pod.get("status") or {}
        if status.get("phase") == ("Running" if runs else "Failed"):
            return runs
        if not runs:
            self._tell(f"the operator has ended with exit code {code}; the cluster stays")
        ended = {"terminated": {"exitCode": code, "reason": "Error"}}
        state = {"running": {"startedAt": conditions.now()}} if runs else ended
        words = {"phase": "Running" if runs else "Failed", "ready": runs, "state": state, "now": conditions.now()}
        change = kinds.filled(kinds.ACCOUNT["own_pod"], **words)
        await self._api.patch_status(kinds.PODS, pod["metadata"]["name"], change, NAMESPACE)
        return runs
