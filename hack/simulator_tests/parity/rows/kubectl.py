"""What an administrator types: the same kubectl, with the same words, and what it makes of the two servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator_tests.parity import samples as s
from simulator_tests.parity.rows import strategic
from simulator_tests.parity.table import first, kubectl, patch, post, row

if TYPE_CHECKING:
    from simulator_tests.parity import table as t

_NODE = first(post(s.NODES, s.node()))
_HERE = "-n {row}"


def _manifest(*lines: str) -> str:
    head = ("apiVersion: v1", "kind: ConfigMap", "metadata: {name: one, namespace: '{row}'}")
    return "\n".join((*head, *lines, ""))


def _widget(size: int) -> str:
    meta = "metadata: {name: one, namespace: '{row}'}"
    return f"apiVersion: {s.API}\nkind: Widget\n{meta}\nspec: {{size: {size}, tags: [a, b]}}\n"


def _shown(what: str, path: str) -> t.Step:
    return kubectl(f"get {what} {_HERE} -o jsonpath='{{{path}}}'")


def _ours(lines: Any) -> Any:
    return [line for line in lines if "kube-root-ca" not in line]


ROWS = (
    row(
        "kubectl cordon and uncordon",
        _NODE,
        kubectl("cordon {row}"),
        kubectl("cordon {row}"),
        kubectl("get node {row} -o jsonpath='{.spec}'"),
        kubectl("uncordon {row}"),
        kubectl("uncordon {row} --dry-run=server"),
        kubectl("cordon missing"),
        namespace=False,
    ),
    row(
        "kubectl drain",
        _NODE,
        kubectl("drain {row} --dry-run=client --ignore-daemonsets"),
        kubectl("drain {row} --dry-run=server --ignore-daemonsets"),
        kubectl("get node {row} -o jsonpath='{.spec.unschedulable}'"),
        kubectl("drain {row} --ignore-daemonsets"),
        namespace=False,
    ),
    row(
        "kubectl taint, label and annotate",
        _NODE,
        kubectl("taint node {row} a=b:NoSchedule"),
        kubectl("taint node {row} a=b:NoSchedule"),
        kubectl("taint node {row} a=c:NoSchedule --overwrite"),
        kubectl("taint node {row} a-"),
        kubectl("taint node {row} a=b:Never"),
        kubectl("label node {row} a=b"),
        kubectl("label node {row} a=c"),
        kubectl("label node {row} a=c --overwrite"),
        kubectl("label node {row} a-"),
        kubectl("annotate node {row} a=b"),
        kubectl("annotate node {row} a-"),
        namespace=False,
    ),
    row(
        "kubectl patch of a built-in kind",
        _NODE,
        kubectl("""patch node {row} -p '{"spec":{"unschedulable":true}}'"""),
        kubectl("""patch node {row} -p '{"spec":{"unschedulable":true}}'"""),
        kubectl("""patch node {row} --subresource=status -p '{"status":{"phase":"Running"}}'"""),
        kubectl("""patch node {row} -p '{"spec":{"taints":[{"key":"a","effect":"Never"}]}}'"""),
        kubectl("patch node missing -p '{}'"),
        namespace=False,
    ),
    row(
        "kubectl patch of a custom resource takes a type",
        first(post(s.WIDGETS, s.widget(size=1))),
        kubectl(f"""patch widget one {_HERE} -p '{{"spec":{{"size":2}}}}'"""),
        kubectl(f"""patch widget one {_HERE} --type merge -p '{{"spec":{{"size":2}}}}'"""),
        kubectl(f"""patch widget one {_HERE} --type json -p '[{{"op":"remove","path":"/spec/size"}}]'"""),
    ),
    row(
        "kubectl create and delete from a manifest",
        kubectl("create -f -", _manifest("data: {a: '1'}")),
        kubectl("create -f -", _manifest("data: {a: '1'}")),
        kubectl("delete -f - --dry-run=server", _manifest()),
        kubectl("delete -f -", _manifest()),
        kubectl("delete -f -", _manifest()),
        kubectl(f"delete configmap one {_HERE} --ignore-not-found"),
    ),
    row(
        "kubectl apply of a built-in kind",
        kubectl("apply -f -", _manifest("data: {a: '1', b: '2'}")),
        kubectl("apply -f -", _manifest("data: {a: '1', b: '2'}")),
        first(patch(s.CONFIG_MAPS + "/one", {"data": {"c": "of another"}})),
        kubectl("apply -f - --dry-run=server", _manifest("data: {a: '3'}")),
        kubectl("diff -f -", _manifest("data: {a: '3'}"), view=lambda lines: [one for one in lines if "a:" in one]),
        kubectl("apply -f -", _manifest("data: {a: '3'}")),
        _shown("configmap one", ".data"),
        kubectl("apply view-last-applied -f -", _manifest()),
        kubectl("replace -f -", _manifest("data: {d: '4'}")),
        kubectl("apply -f -", _manifest("data: {e: '5'}")),
    ),
    row(
        "kubectl apply of a custom resource",
        kubectl("apply -f -", _widget(1)),
        kubectl("apply -f -", _widget(2)),
        kubectl("apply -f -", _widget(2)),
        kubectl("apply -f -", _widget(99)),
        _shown("widget one", ".spec.size}{.spec.tags"),
    ),
    row(
        "kubectl apply on the server",
        kubectl("apply --server-side -f -", _manifest("data: {a: '1'}")),
    ),
    row(
        "kubectl edit",
        first(post(s.CONFIG_MAPS, s.config_map(a="1"))),
        kubectl(f"edit configmap one {_HERE}", editor="sed -i 's/  a: .*/  a: changed/'"),
        kubectl(f"edit configmap one {_HERE}", editor="true"),
        _shown("configmap one", ".data"),
    ),
    row(
        "kubectl get, wait and describe",
        first(post(strategic.DEPLOYMENTS, strategic.deployment(strategic.container("x")))),
        first(post(s.CONFIG_MAPS, s.config_map(a="1"))),
        kubectl(
            f"get deployment,configmap {_HERE} -o name",
            view=_ours,
        ),
        kubectl(f"wait --for=jsonpath='{{.data.a}}'=1 configmap/one {_HERE} --timeout=5s"),
        kubectl(f"wait --for=delete configmap/missing {_HERE} --timeout=5s"),
        kubectl(f"describe configmap one {_HERE}"),
    ),
)
