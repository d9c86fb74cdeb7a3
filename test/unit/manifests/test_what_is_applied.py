"""What is printed: which files, in which order, with what put in; and the definition, whole and as a patch."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from topology_api import vocabulary
from topology_controller import bindata, cli
from topology_deploy import cli as deploy
from topology_deploy import manifests

NAMESPACE = "openshift-topology-operator"
LOADER = yaml.CSafeLoader
UNLINKED = "warning: the alerts link no runbook: --runbooks URL is where docs/runbooks is served\n"
OURS: list[dict[str, Any]] = list(yaml.load_all(manifests.render(monitoring=False), LOADER))
MONITORING: list[dict[str, Any]] = list(yaml.load_all(manifests.render(), LOADER))[len(OURS) :]
OBJECTS: list[dict[str, Any]] = [*OURS, *yaml.load_all(manifests.whole_crd(), LOADER)]


def named(obj: dict[str, Any]) -> str:
    return f"{obj['kind']}-{obj['metadata'].get('namespace', '')}-{obj['metadata']['name']}"


def test_every_file_is_printed_in_the_order_of_the_names():
    folders = [sorted((bindata.root() / name).glob("*.yaml")) for name in ("manifests", "monitoring")]
    for places, printed in zip(folders, (OURS, MONITORING), strict=True):
        listed = [obj for place in places for obj in yaml.load_all(place.read_text(encoding="utf-8"), LOADER)]
        assert [named(obj) for obj in listed] == [named(obj) for obj in printed]
    assert OBJECTS[0]["kind"] == "Namespace", "everything else needs it"
    both = [*OBJECTS, *MONITORING]
    assert len({named(obj) for obj in both}) == len(both)


@pytest.fixture
def printed(capsys):
    """Run the command; the objects that it prints come back."""

    def run(*flags: str) -> list[dict[str, Any]]:
        assert deploy.main(["manifests", *flags]) == cli.OK
        output, complaint = capsys.readouterr()
        assert not complaint.replace(UNLINKED, "")
        return [one for one in yaml.load_all(output, LOADER) if one]

    return run


def test_monitoring_is_left_out_by_a_flag(printed):
    assert (printed(), printed("--without-monitoring")) == ([*OURS, *MONITORING], OURS)


def test_no_object_is_in_a_namespace_that_may_not_be_there(printed):
    left = printed("--without-machine-api")
    assert "openshift-machine-api" not in {one["metadata"].get("namespace") for one in printed()}
    assert [one["kind"] for one in [*OURS, *MONITORING] if one not in left] == ["ClusterRole", "ClusterRoleBinding"]


def test_who_asks_for_it_lets_cluster_reader_read_bare_metal_hosts(printed):
    plain, asked = printed("--namespace", "mine"), printed("--namespace", "mine", "--bare-metal-host-reader")
    assert asked == [*plain, yaml.safe_load(manifests.filled("readers/baremetalhosts.yaml"))]


def test_the_committed_definition_is_current():
    committed = (bindata.root() / "crd" / "infrastructures.yaml").read_text(encoding="utf-8")
    assert committed == manifests.whole_crd(), "run make generate"


def test_the_pod_is_restricted():
    (deployment,) = [obj for obj in OURS if obj["kind"] == "Deployment"]
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
    text = manifests.render(image="example.com/op@sha256:" + "0" * 64, namespace="elsewhere")
    assert NAMESPACE not in text
    assert "cluster-topology-operator.elsewhere.svc" in text, "the name that Prometheus asks for"
    assert ":unset" not in text
    (deployment,) = [one for one in yaml.load_all(text, LOADER) if one["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "elsewhere"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/op@sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        *(({"namespace": bad}, "the name of a namespace") for bad in ("", "Upper", "a b", "a\n---", "-a", "a" * 64)),
        *(({"image": bad}, "cannot be an image") for bad in ("", "a b", "a\nb: c", "'", "x" * 600)),
    ],
)
def test_what_cannot_be_put_in_is_refused(said, complaint):
    with pytest.raises(manifests.ManifestsError, match=complaint):
        manifests.render(**said)


@pytest.mark.parametrize("bad", [[], {}, {"kind": "List"}])
def test_only_our_definition_is_patched(bad: object) -> None:
    with pytest.raises(manifests.ManifestsError, match="wanted CustomResourceDefinition infrastructures"):
        manifests.patch(bad)


def runbooks(text: str) -> set[str]:
    """The folders that the alerts of printed manifests link."""
    (rules,) = [one for one in yaml.load_all(text, LOADER) if one and one["kind"] == "PrometheusRule"]
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert alerts
    return {alert["annotations"].get("runbook_url", "").rpartition("/")[0] for alert in alerts}


@pytest.mark.parametrize(
    ("flags", "environ", "folder"),
    [
        ([], None, ""),
        (["--elsewhere", "management", "--namespace", "edge-1"], None, ""),
        (["--runbooks", "https://git.example.org:8443/t/docs/runbooks"], None, "https://git.example.org:8443/t/docs/runbooks"),
        ([], "https://docs.example.org/a", "https://docs.example.org/a"),
        (["--runbooks", "https://flag.example.org"], "https://environ.example.org", "https://flag.example.org"),
    ],
)  # fmt: skip
def test_the_alerts_link_the_runbooks_where_they_are(flags, environ, folder, capsys, monkeypatch):
    monkeypatch.delenv(vocabulary.RUNBOOKS_VARIABLE, raising=False)
    if environ is not None:
        monkeypatch.setenv(vocabulary.RUNBOOKS_VARIABLE, environ)
    assert deploy.main(["manifests", *flags]) == cli.OK
    printed = capsys.readouterr()
    assert runbooks(printed.out) == {folder}
    assert "example.com/runbooks" not in printed.out
    assert printed.err == ("" if folder else UNLINKED)


@pytest.mark.parametrize(
    "bad",
    [
        "http://docs.example.org", "docs/runbooks", "https://", "https:///a", "https://a b", "https://a/{{ x }}",
        "https://a/'", "https://a\n",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused(bad, capsys, monkeypatch):
    monkeypatch.delenv(vocabulary.RUNBOOKS_VARIABLE, raising=False)
    assert deploy.main(["manifests", "--runbooks", bad]) == cli.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cannot be the address of the runbooks: wanted https://HOST" in captured.err
    monkeypatch.setenv(vocabulary.RUNBOOKS_VARIABLE, bad)
    assert deploy.main(["manifests"]) == cli.USAGE
    assert deploy.main(["manifests", "--crd-only"]) == cli.OK, "what has no alerts does not ask for it"
