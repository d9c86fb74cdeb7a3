"""What is printed: which files, in which order, with what put in; and the definition, whole and as a patch."""

from __future__ import annotations

import pathlib
import runpy
import shutil
from typing import Any

import pytest
import yaml

import operand_rights
from topology_api import vocabulary
from topology_controller import bindata, cli, manifests

NAMESPACE = "openshift-topology-operator"
OURS: list[dict[str, Any]] = list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR, monitoring=False)))
MONITORING: list[dict[str, Any]] = list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR)))[len(OURS) :]
OBJECTS: list[dict[str, Any]] = [*OURS, yaml.safe_load(manifests.render(manifests.Kind.CRD_ONLY))]


def named(obj: dict[str, Any]) -> str:
    return f"{obj['kind']}-{obj['metadata'].get('namespace', '')}-{obj['metadata']['name']}"


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    return [obj for obj in OBJECTS if obj["kind"] in kinds]


def test_every_file_is_printed_in_the_order_of_the_names():
    folders = [sorted((bindata.root() / name).glob("*.yaml")) for name in ("manifests", "monitoring")]
    listed = [
        [obj for place in places for obj in yaml.safe_load_all(place.read_text(encoding="utf-8"))] for places in folders
    ]
    assert [[named(obj) for obj in one] for one in listed] == [
        [named(obj) for obj in one] for one in (OURS, MONITORING)
    ]
    assert OBJECTS[0]["kind"] == "Namespace", "everything else needs it"
    both = [*OBJECTS, *MONITORING]
    assert len({named(obj) for obj in both}) == len(both)


def test_monitoring_is_what_a_cluster_without_it_would_refuse_and_can_be_left_out():
    assert "monitoring.coreos.com" not in manifests.render(manifests.Kind.OPERATOR, monitoring=False)
    assert {"ServiceMonitor", "PrometheusRule"} <= {one["kind"] for one in MONITORING}
    assert manifests.render(manifests.Kind.OPERATOR).startswith(
        manifests.render(manifests.Kind.OPERATOR, monitoring=False)
    )
    for kind in (manifests.Kind.CRD_ONLY, manifests.Kind.CRD_PATCH):
        assert manifests.render(kind) == manifests.render(kind, monitoring=False)


@pytest.mark.parametrize(
    ("flags", "code", "has_rules"),
    [
        ([], cli.OK, True),
        (["--without-monitoring"], cli.OK, False),
        (["--without-monitoring", "--crd-only"], cli.USAGE, False),
        (["--without-monitoring", "--crd-patch"], cli.USAGE, False),
    ],
)
def test_monitoring_is_left_out_by_a_flag(flags, code, has_rules, capsys):
    assert cli.main(["manifests", *flags]) == code
    printed, complaint = capsys.readouterr()
    assert ("kind: PrometheusRule" in printed) is has_rules
    assert bool(printed) is (code == cli.OK)
    assert bool(complaint) is (code != cli.OK)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["--without-machine-api"], cli.OK),
        (["--without-machine-api", "--without-monitoring"], cli.OK),
        (["--without-machine-api", "--crd-only"], cli.USAGE),
        (["--without-machine-api", "--crd-patch"], cli.USAGE),
    ],
)
def test_what_belongs_into_a_namespace_that_may_not_be_there_is_left_out_by_a_flag(flags, code, capsys):
    assert "namespace: openshift-machine-api" in manifests.render(manifests.Kind.OPERATOR)
    assert cli.main(["manifests", *flags]) == code
    printed, complaint = capsys.readouterr()
    assert (bool(printed), bool(complaint)) == (code == cli.OK, code != cli.OK)
    left = [one for one in yaml.safe_load_all(printed) if one]
    assert "openshift-machine-api" not in {one["metadata"].get("namespace") for one in left}
    if flags == ["--without-machine-api"]:
        whole = list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR)))
        gone = [one for one in whole if one not in left]
        assert [one["kind"] for one in gone] == ["Role", "RoleBinding"]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ([], cli.OK),
        (["--namespace", "mine"], cli.OK),
        (["--elsewhere", "target"], cli.OK),
        (["--elsewhere", "management", "--namespace", "mine"], cli.USAGE),
        (["--crd-only"], cli.USAGE),
        (["--crd-patch"], cli.USAGE),
    ],
)
def test_who_asks_for_it_lets_cluster_reader_read_bare_metal_hosts(flags, code, capsys):
    def printed(*more: str) -> list[object]:
        found = cli.main(["manifests", *flags, *more])
        output, complaint = capsys.readouterr()
        assert (found, bool(complaint)) == ((code, code != cli.OK) if more else (cli.OK, False))
        return [one for one in yaml.safe_load_all(output) if one] if found == cli.OK else []

    plain, asked = printed() if code == cli.OK else [], printed("--bare-metal-host-reader")
    assert asked == ([*plain, yaml.safe_load(manifests.host_reader())] if code == cli.OK else [])


def test_the_committed_definition_is_current():
    committed = (bindata.root() / "crd" / "infrastructures.yaml").read_text(encoding="utf-8")
    assert committed == manifests.whole_crd(), "run make generate"


def test_the_check_of_generated_files_tells_stale_from_current(tmp_path):
    root = pathlib.Path(__file__).parents[3]
    copied = tmp_path / "hack" / "generate.py"
    page, api = tmp_path / "docs" / "rights.md", tmp_path / "docs" / "api.md"
    flux = tmp_path / "docs" / "examples" / "gitops" / "flux" / "topology.yaml"
    for place in (copied, page, api, flux):
        place.parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(root / place.relative_to(tmp_path), place)
    shutil.copytree(root / "bindata" / "transitions", tmp_path / "bindata" / "transitions")
    main = runpy.run_path(str(copied))["main"]
    assert main(["--check"]) == 1, "there is nothing in bindata but the transitions"
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert page.read_bytes() == (root / "docs" / "rights.md").read_bytes()
    table = next(line for line in page.read_text(encoding="utf-8").splitlines() if "deployments.apps" in line)
    crd = tmp_path / "bindata" / "crd" / "infrastructures.yaml"
    roles = tmp_path / "bindata" / "manifests" / operand_rights.FILE
    listed = tmp_path / "bindata" / "kustomization.yaml"
    assert listed.read_bytes() == (bindata.root() / "kustomization.yaml").read_bytes(), "run make generate"
    runbook = tmp_path / "docs" / "runbooks" / "TopologyTransitionStuck.md"
    explanations = tmp_path / "bindata" / "explanations.json"
    work = tmp_path / "bindata" / "fleet" / "work.yaml"
    for made in (api, flux, runbook, explanations, work):
        assert made.read_bytes() == (root / made.relative_to(tmp_path)).read_bytes(), "run make generate"
    damages = (
        (crd, "spec:", "spec: #"), (roles, "get, ", ""), (page, table, ""), (listed, "_07_", "_17_"),
        (api, "| `Idle` |", "| `Lazy` |"), (runbook, "oc topology status", "oc status"), (explanations, "Idle", "Lazy"),
        (work, "Orphan", "Foreground"), (flux, ".hasValue()", ".value()"),
    )  # fmt: skip
    for written, found, stale in damages:
        text = written.read_text(encoding="utf-8")
        written.write_text(text.replace(found, stale, 1), encoding="utf-8")
        assert main(["--check"]) == 1, written
        assert main([]) == 0
        assert written.read_text(encoding="utf-8") == text


def test_the_pod_is_restricted():
    (deployment,) = of_kind("Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


def test_image_and_namespace_are_put_in_everywhere():
    text = manifests.render(manifests.Kind.OPERATOR, image="example.com/op@sha256:" + "0" * 64, namespace="elsewhere")
    assert NAMESPACE not in text
    assert "cluster-topology-operator.elsewhere.svc" in text, "the name that Prometheus asks for"
    assert ":unset" not in text
    (deployment,) = [one for one in yaml.safe_load_all(text) if one["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "elsewhere"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/op@sha256:" + "0" * 64


@pytest.mark.parametrize("bad", ["", "Upper", "a b", "a\n---", "-a", "a" * 64])
def test_a_namespace_that_cannot_be_one_is_refused(bad):
    with pytest.raises(manifests.ManifestsError, match="cannot be the name of a namespace"):
        manifests.render(manifests.Kind.OPERATOR, namespace=bad)


@pytest.mark.parametrize("bad", ["", "a b", "a\nb: c", "'", "x" * 600])
def test_an_image_that_cannot_be_one_is_refused(bad):
    with pytest.raises(manifests.ManifestsError, match="cannot be an image"):
        manifests.render(manifests.Kind.OPERATOR, image=bad)


@pytest.mark.parametrize("served", [[], {}, {"kind": "List"}])
def test_a_file_that_is_not_the_definition_is_refused(served):
    with pytest.raises(manifests.ManifestsError, match=r"wanted CustomResourceDefinition infrastructures"):
        manifests.render(manifests.Kind.CRD_PATCH, served=served)


def runbooks(text: str) -> set[str]:
    """The folders that the alerts of printed manifests link."""
    (rules,) = [one for one in yaml.safe_load_all(text) if one and one["kind"] == "PrometheusRule"]
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert alerts
    return {alert["annotations"]["runbook_url"].rpartition("/")[0] for alert in alerts}


@pytest.mark.parametrize(
    ("flags", "environ", "folder"),
    [
        ([], None, bindata.RUNBOOKS),
        (["--runbooks", "https://git.example.org:8443/t/docs/runbooks"], None, "https://git.example.org:8443/t/docs/runbooks"),
        (["--runbooks", "https://docs.example.org/"], None, "https://docs.example.org"),
        ([], "https://docs.example.org/a", "https://docs.example.org/a"),
        (["--runbooks", "https://flag.example.org"], "https://environ.example.org", "https://flag.example.org"),
    ],
)  # fmt: skip
def test_the_alerts_link_the_runbooks_where_they_are(flags, environ, folder, capsys, monkeypatch):
    monkeypatch.delenv(vocabulary.RUNBOOKS_VARIABLE, raising=False)
    if environ is not None:
        monkeypatch.setenv(vocabulary.RUNBOOKS_VARIABLE, environ)
    assert cli.main(["manifests", *flags]) == cli.OK
    assert runbooks(capsys.readouterr().out) == {folder}


@pytest.mark.parametrize(
    "bad",
    [
        "http://docs.example.org", "docs/runbooks", "https://", "https:///a", "https://a b", "https://a/{{ x }}",
        "https://a/'", "https://a\n",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused(bad, capsys, monkeypatch):
    monkeypatch.delenv(vocabulary.RUNBOOKS_VARIABLE, raising=False)
    assert cli.main(["manifests", "--runbooks", bad]) == cli.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cannot be the address of the runbooks: wanted https://HOST" in captured.err
    monkeypatch.setenv(vocabulary.RUNBOOKS_VARIABLE, bad)
    assert cli.main(["manifests"]) == cli.USAGE
    assert cli.main(["manifests", "--crd-only"]) == cli.OK, "what has no alerts does not ask for it"
