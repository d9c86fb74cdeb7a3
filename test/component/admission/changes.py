"""What people try with Infrastructure `cluster`, each as one request made from the object as it stands.

It stands as `prepare` leaves it: SingleReplica, HighlyAvailable requested, a record that says Pending, a label, an
annotation. Every change would be legal but for rights and admission, so that a refusal is never the definition's.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from test.component.admission import policy_server
from test.component.admission.policy_server import Request
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

_STATUS = f"{policy_server.INFRASTRUCTURE}/status"
_REPORT = f"{policy_server.OPERATOR}/status"
COPY = {"phase": "Converging", "name": "sno-to-ha-compact"}
_TIME = "2026-01-01T00:00:00Z"
_BLOCK = {"type": "Upgradeable", "status": "False", "reason": "TransitionInProgress", "lastTransitionTime": _TIME}
BLOCK = [_BLOCK]
_LIFTED = [{**_BLOCK, "status": "True", "reason": "AsExpected"}]
BACKENDS = "topology.openshift.io/load-balancer-backends"
_BACKUP = "topology.openshift.io/etcd-backup-taken"
_ELSEWHERE = "topology.openshift.io/operator-elsewhere"
_DRAIN = "topology.openshift.io/router-drain-accepted"
PAUSED = "topology.openshift.io/paused"
CONFIRMED = {BACKENDS: "192.0.2.10"}
"""What an administrator has confirmed before anything is tried."""
_JSON_PATCH = "application/json-patch+json"
_APPLY = "application/apply-patch+yaml"
_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "uid": "11111111-2222-3333-4444-555555555555"}
MARK = "example.com/mark"
Object = dict[str, Any]
_Edit = tuple[tuple[str, ...], Any]
_GONE = object()


async def prepare(ground: policy_server.PolicyServer) -> Object:
    """Make the Infrastructure what the changes begin with, and return it."""
    await ground.anew()
    confirmed = {_BACKUP: None, _ELSEWHERE: None, _DRAIN: None, PAUSED: None, **CONFIRMED}
    await ground.api.patch(kinds.CLUSTER_OPERATORS, "topology", {"metadata": {"annotations": confirmed}})
    await ground.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", {"extension": COPY, "conditions": BLOCK})
    marks = {"labels": {MARK: "old"}, "annotations": {MARK: "old"}}
    await ground.api.patch(
        kinds.INFRASTRUCTURES, "cluster", {"metadata": marks, "spec": {"desiredTopology": "HighlyAvailable"}}
    )
    record = {"phase": "Pending", "name": "sno-to-ha-compact"}
    return await ground.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": record})


def _merge(change: Object, path: str = policy_server.INFRASTRUCTURE) -> Callable[[Object], Request]:
    return lambda _: Request("PATCH", change, path=path)


def _status(**change: Any) -> Callable[[Object], Request]:
    return _merge({"status": change}, _STATUS)


def _operations(*operations: Object, path: str = policy_server.INFRASTRUCTURE) -> Callable[[Object], Request]:
    return lambda _: Request("PATCH", list(operations), _JSON_PATCH, path)


def _replaced(*edits: _Edit, path: str = policy_server.INFRASTRUCTURE) -> Callable[[Object], Request]:
    """A PUT of the whole object, as typed clients send it."""

    def request(found: Object) -> Request:
        whole = copy.deepcopy(found)
        for (*way, last), value in edits:
            place = whole
            for name in way:
                place = place[name]
            if value is _GONE:
                del place[last]
            else:
                place[last] = value
        return Request("PUT", whole, "application/json", path)

    return request


_FORCED = (("fieldManager", "gitops"), ("force", "true"))


def _applied(**spec: str) -> Callable[[Object], Request]:
    body = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}}
    return lambda _: Request("PATCH", {**body, "spec": spec}, _APPLY, query=_FORCED)


def _confirmed(**annotations: str | None) -> Callable[[Object], Request]:
    return _merge({"metadata": {"annotations": annotations}}, policy_server.OPERATOR)


def _writers(*added: Object, kept: Callable[[Object], bool]) -> Callable[[Object], Request]:
    """The object with other managedFields: of those that it has what is to be kept, and what is added."""

    def request(before: Object) -> Request:
        entries = [entry for entry in before["metadata"]["managedFields"] if kept(entry)]
        return _replaced((("metadata", "managedFields"), [*entries, *added]))(before)

    return request


def _is_of_status(entry: Object) -> bool:
    return bool(entry.get("subresource") == "status")


_SCAPEGOAT: Object = {
    "manager": "kube-scheduler", "operation": "Update", "apiVersion": "config.openshift.io/v1",
    "time": "2099-01-01T00:00:00Z", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:status": {"f:controlPlaneTopology": {}}},
}  # fmt: skip
_BACK = "SingleReplica"
CHANGES: dict[str, Callable[[Object], Request]] = {
    "move the control plane": _status(controlPlaneTopology="HighlyAvailable"),
    "move the infrastructure": _status(infrastructureTopology="HighlyAvailable"),
    "move by replacing": _replaced((("status", "controlPlaneTopology"), "HighlyAvailable"), path=_STATUS),
    "let the default move it": _operations({"op": "remove", "path": "/status/controlPlaneTopology"}, path=_STATUS),
    "take all of status away": _operations({"op": "remove", "path": "/status"}, path=_STATUS),
    "write another record": _status(topologyTransition={"phase": "Completed"}),
    "move and drop the record": _status(
        controlPlaneTopology="HighlyAvailable", infrastructureTopology="HighlyAvailable", topologyTransition=None
    ),
    "drop the record": _replaced((("status", "topologyTransition"), _GONE), path=_STATUS),
    "write something else of status": _status(apiServerURL="https://other.example.com:6443"),
    "send the same status": _replaced(path=_STATUS),
    "request": _merge({"spec": {"desiredTopology": _BACK}}),
    "cancel": _merge({"spec": {"desiredTopology": None}}),
    "request by a JSON patch": _operations(
        {"op": "test", "path": "/spec/desiredTopology", "value": "HighlyAvailable"},
        {"op": "replace", "path": "/spec/desiredTopology", "value": _BACK},
    ),
    "request by applying": _applied(desiredTopology=_BACK),
    "request by replacing": _replaced((("spec", "desiredTopology"), _BACK)),
    "send nothing new": _merge({"spec": {"desiredTopology": "HighlyAvailable"}}),
    "replace with the same": _replaced(),
    "change spec": _merge({"spec": {"cloudConfig": {"name": "other"}}}),
    "take from spec": _merge({"spec": {"platformSpec": None}}),
    "label": _merge({"metadata": {"labels": {MARK: "new"}}}),
    "annotate": _merge({"metadata": {"annotations": {"more": "new"}}}),
    "take an annotation": _operations({"op": "remove", "path": "/metadata/annotations/example.com~1mark"}),
    "hold with a finalizer": _merge({"metadata": {"finalizers": [MARK]}}),
    "own": _merge({"metadata": {"ownerReferences": [_OWNER]}}),
    "forget who wrote what": _merge({"metadata": {"managedFields": [{}]}}),
    "forge who wrote what": _writers({**_SCAPEGOAT, "subresource": "status"}, kept=lambda _: False),
    "forge one more who wrote status": _writers({**_SCAPEGOAT, "subresource": "status"}, kept=lambda _: True),
    "forge the same without the sub-resource": _writers(_SCAPEGOAT, kept=lambda _: True),
    "forget who wrote status": _writers(kept=lambda entry: not _is_of_status(entry)),
    "forget who wrote spec": _writers(kept=_is_of_status),
    "request and label": _merge({"metadata": {"labels": {MARK: "new"}}, "spec": {"desiredTopology": _BACK}}),
    "write the copy": _merge({"status": {"extension": {"phase": "Completed"}}}, _REPORT),
    "drop the copy": _operations({"op": "remove", "path": "/status/extension"}, path=_REPORT),
    "lift it by applying": lambda _: Request(
        "PATCH", kinds.CLUSTER_OPERATORS.new("topology", status={"conditions": _LIFTED}), _APPLY, _REPORT, _FORCED
    ),
    "lift the upgrade block": _merge({"status": {"conditions": _LIFTED}}, _REPORT),
    "take the upgrade block away": _merge({"status": {"conditions": None}}, _REPORT),
    "report another version": _merge({"status": {"versions": [{"name": "operator", "version": "9"}]}}, _REPORT),
    "have something else gathered": _merge(
        {"status": {"relatedObjects": [{"group": "", "resource": "secrets", "name": "", "namespace": "default"}]}},
        _REPORT,
    ),
    "send the same report": _merge({"status": {"conditions": BLOCK, "extension": COPY}}, _REPORT),
    "confirm the load balancer": _confirmed(**{BACKENDS: "192.0.2.10,192.0.2.11"}),
    "take a confirmation back": _confirmed(**{BACKENDS: None}),
    "claim a backup": _confirmed(**{_BACKUP: "2099-01-01T00:00:00Z"}),
    "accept the drain of the router": _confirmed(**{_DRAIN: "true"}),
    "call the operator elsewhere": _confirmed(**{_ELSEWHERE: "true"}),
    "pause": _confirmed(**{PAUSED: "true"}),
    "label the ClusterOperator": _merge({"metadata": {"labels": {MARK: "new"}}}, policy_server.OPERATOR),
    "confirm the load balancer through status": _merge(
        {"metadata": {"annotations": {BACKENDS: "192.0.2.11"}}}, _REPORT
    ),
    "confirm it for another ClusterOperator": lambda _: Request(
        "POST",
        {
            **kinds.CLUSTER_OPERATORS.new("stranger", spec={}),
            "metadata": {"name": "stranger", "annotations": CONFIRMED},
        },
        "application/json",
        kinds.CLUSTER_OPERATORS.path(),
    ),
    "create another ClusterOperator": lambda _: Request(
        "POST", kinds.CLUSTER_OPERATORS.new("stranger", spec={}), "application/json", kinds.CLUSTER_OPERATORS.path()
    ),
}
