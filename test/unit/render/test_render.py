"""`cluster-topology-operator render`: what a person, a pipeline and a mistake get to see."""

from __future__ import annotations

import json
import pathlib
import textwrap

import pytest
import yaml

from topology_controller import cli
from topology_deploy import cli as deploy
from topology_deploy import render
from topology_deploy.install_config import Rule

ONE_WORKER = """\
apiVersion: v1
baseDomain: example.com
metadata:
  name: edge-12
controlPlane:
  name: master
  replicas: 3
compute:
- name: worker
  replicas: 1
platform:
  none: {}
pullSecret: '{"auths": {"registry.example.com": {"auth": "c2VjcmV0"}}}'
"""
PLACE = pathlib.Path("install-config.yaml")
SECRET = "c2VjcmV0"
NUMBER = "wanted a whole number, 0 or more"
NONE = "is no install-config"


@pytest.fixture
def rendered(tmp_path, capsys):
    """Run the command on a text; code, standard output and standard error come back."""

    def run(text: str | bytes, *flags: str) -> tuple[int, str, str]:
        place = tmp_path / "install-config.yaml"
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        code = deploy.main(["render", "--install-config", str(place), *flags])
        told = capsys.readouterr()
        assert SECRET not in told.out + told.err, "nothing of the rest of the file is ever shown"
        return code, told.out.replace(f"{tmp_path}/", ""), told.err.replace(f"{tmp_path}/", "")

    return run


def complaints(told: str) -> list[str]:
    return [line.removeprefix("cluster-topology-operator: ") for line in told.splitlines()]


@pytest.mark.parametrize("rule", Rule)
def test_one_rule_alone_still_says_that_the_other_differs(rendered, rule):
    _, out, _ = rendered(ONE_WORKER, "--rule", rule.value)
    (heading,) = [line for line in out.splitlines() if line.strip() in set(Rule)]
    assert heading.strip() == rule.value
    assert "infrastructureTopology differs" in out


@pytest.mark.parametrize("rule", [None, *Rule])
def test_json_and_yaml_say_the_same(rendered, rule):
    flags = [] if rule is None else ["--rule", rule.value]
    _, as_json, _ = rendered(ONE_WORKER, "-o", "json", *flags)
    _, as_yaml, _ = rendered(ONE_WORKER, "--output", "yaml", *flags)
    found = json.loads(as_json)
    assert yaml.safe_load(as_yaml) == found
    (difference,) = found["differences"]
    said = [difference[name] for name in ("field", "released", "proposed")]
    assert said == ["infrastructureTopology", "SingleReplica", "HighlyAvailable"]
    assert found["rules"].keys() == ({rule} if rule else {*Rule})
    for each, told in found["rules"].items():
        assert told["infrastructureTopology"] == difference[each]
        assert (told["controlPlaneTopology"], told["shape"]) == ("HighlyAvailable", "unclassified")
    machines = found["machines"]
    assert [machines[name] for name in ("controlPlane", "arbiters", "workers")] == [3, 0, 1]
    counted = [(one["field"], one["line"], one["pool"], one["replicas"]) for one in machines["counted"]]
    assert counted == [("controlPlane.replicas", 7, "master", 3), ("compute[0].replicas", 10, "worker", 1)]


def in_cluster(style: str) -> bytes:
    """ConfigMap cluster-config-v1; a block scalar or a quoted text."""
    text = json.dumps(ONE_WORKER) if style == '"' else "|\n" + textwrap.indent(ONE_WORKER, "    ")
    return f"apiVersion: v1\ndata:\n  install-config: {text}\nkind: ConfigMap\n".encode()


@pytest.mark.parametrize("style", ["|", '"'])
def test_the_install_config_that_a_cluster_keeps(rendered, style):
    """The key is the closest thing there is to a line of a quoted text."""
    raw = in_cluster(style)
    code, out, _ = rendered(raw, "-o", "json")
    assert code == cli.OK
    counted = json.loads(out)["machines"]["counted"]
    assert [one["replicas"] for one in counted] == [3, 1]
    lines = raw.decode().splitlines()
    shown = [lines[one["line"] - 1].strip().partition(":")[0] for one in counted]
    assert shown == ["replicas" if style == "|" else "install-config"] * 2
    _, _, err = rendered(raw.replace(b"replicas: 1", b"replicas: x"))
    assert complaints(err) == [f"install-config.yaml:{counted[1]['line']}: compute[0].replicas: found 'x'; {NUMBER}"]


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        (b"name: *unknown", "anchors and aliases are not used here: write it out"),
        # The column would be that of the text, not of the file.
        (b"name: [worker", "is not YAML: expected ',' or ']', but got ':'"),
    ],
)
@pytest.mark.parametrize("style", ["|", '"'])
def test_a_config_map_with_no_yaml_in_it(rendered, style, worker, told):
    code, _, err = rendered(in_cluster(style).replace(b"name: worker", worker))
    assert code == cli.FAILED
    (complaint,) = complaints(err)
    assert complaint.endswith(told)
    assert "unknown" not in complaint


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("controlPlane:\n  replicas: -1\n", 2, f"controlPlane.replicas: found -1; {NUMBER}"),
        ("controlPlane:\n  replicas: yes\n", 2, f"controlPlane.replicas: found true; {NUMBER}"),
        ("controlPlane: 3\n", 1, "controlPlane: found 3; wanted a mapping"),
        ("compute: 3\n", 1, "compute: found 3; wanted a list of pools"),
        ("compute:\n- worker\n", 2, "compute[0]: found 'worker'; wanted a mapping"),
        ("platform: {none: {}, aws: {}}\n", 1, "platform: found aws and none; wanted one platform"),
        (
            "controlPlane: {fencing: {credentials: c2VjcmV0}}\n",
            1,
            "fencing.credentials: found something else; wanted a",
        ),
        ("platform: {none: {}}\n\narbiter: {}\n", 3, "arbiter.replicas: found nothing, which means 0; wanted 1 or"),
        ("apiVersion: v1\nkind: AgentConfig\n", 2, f"{NONE}: kind: found 'AgentConfig'; wanted an install-config"),
        ("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n", 3, f"{NONE}: this ConfigMap has no text under data.i"),
        ("name: x\n", 1, f"{NONE}: found none of its keys; wanted at least one of {', '.join(render.KEYS)}"),
        ("a: b\n---\nc: d\n", 3, "a second document starts here; a file holds one"),
        ("a: [\n", 2, "is not YAML: "),
    ],
)
def test_bad_input_names_file_line_found_and_wanted(rendered, text, line, told):
    code, out, err = rendered(text)
    assert (code, out) == (cli.FAILED, "")
    (complaint,) = complaints(err)
    assert complaint.startswith(f"install-config.yaml:{line}: ")
    assert told in complaint


@pytest.mark.parametrize(
    "value",
    [
        "2024-01-01c2VjcmV0", "2024-01-01 # c2VjcmV0", "!c2VjcmV0 x", "!<c2VjcmV0> x", "!!c2VjcmV0 x", "!!c2VjcmV0 [x]",
        "!!int c2VjcmV0", "*c2VjcmV0", "&c2VjcmV0 a\ny: *c2VjcmV0", "[&c2VjcmV0 a, &c2VjcmV0 b, *c2VjcmV0]",
        "'c2VjcmV0", "it's !c2VjcmV0", '"c2VjcmV0\\q"', "@c2VjcmV0", "c2VjcmV0: x", "[c2VjcmV0", "{? [c2VjcmV0] : x}",
        "%c2VjcmV0", "|c2VjcmV0", "\n%c2VjcmV0 1.0\n---\nx",
    ],
)  # fmt: skip
def test_a_file_that_is_not_yaml_is_refused_without_a_word_of_its_secrets(rendered, value):
    """The fixture looks for the secret in everything that is printed."""
    code, out, err = rendered(f"controlPlane: {{replicas: 3}}\npassword: {value}\n")
    assert code in {cli.OK, cli.FAILED}
    assert bool(out) is (code == cli.OK)
    assert bool(err) is (code == cli.FAILED)


def test_what_is_too_large_or_empty_or_no_text(rendered):
    assert rendered("")[2] == "cluster-topology-operator: install-config.yaml: is empty\n"
    assert "is not UTF-8 text" in rendered(b"a: \xff\n")[2]
    assert "is larger than 1048576 bytes" in rendered("a: b\n" + "#" * render.LARGEST_FILE)[2]


def test_a_file_that_cannot_be_read(tmp_path, capsys):
    for place, why in ((tmp_path / "none.yaml", "No such file or directory"), (tmp_path, "Is a directory")):
        assert deploy.main(["render", "--install-config", str(place)]) == cli.FAILED
        assert capsys.readouterr().err == f"cluster-topology-operator: {place}: cannot be read: {why}\n"
