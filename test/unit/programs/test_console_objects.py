"""What the console offers: printed only where it is asked for, and what OpenShift's own definitions allow."""

from __future__ import annotations

import pathlib
from typing import Any

import jsonschema
import pytest
import yaml
from test.unit.manifests import test_objects_are_valid as strictly

import krew
from topology_controller import _version, cli, manifests
from topology_simulator.envtest import binaries

DOWNLOADS = "https://downloads.example.org/tools"
BANNER = pathlib.Path(__file__).parents[3] / "docs" / "examples" / "gitops" / "clusters" / "edge-1" / "banner.yaml"


def printed(*flags: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert cli.main(["manifests", *flags]) == cli.OK
    return list(yaml.safe_load_all(capsys.readouterr().out))


def schema(plural: str) -> dict[str, Any]:
    """OpenShift's definition of a kind of the console, in which what is not named is not allowed."""
    place = binaries.definitions() / "console" / "v1" / "zz_generated.crd-manifests" / f"00_{plural}.crd.yaml"
    (version,) = yaml.safe_load(place.read_text())["spec"]["versions"]
    return strictly.strict(version["schema"]["openAPIV3Schema"])


def test_the_console_offers_the_archives_of_this_version_last_and_only_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = printed(capsys=capsys)
    assert "ConsoleCLIDownload" not in {obj["kind"] for obj in plain}
    *before, download = printed("--console", f"{DOWNLOADS}/", capsys=capsys)
    assert before == plain
    version = _version.__version__.partition("+")[0]
    links = [link["href"] for link in download["spec"]["links"]]
    assert links == [f"{DOWNLOADS}/{krew.archive_name(platform, version)}" for platform in krew.WHEELS]


@pytest.mark.parametrize("bad", ["", "http://x", "https://", "https://a b", "https://x\nkind: Secret", "ftp://x"])
def test_an_address_that_the_console_would_refuse_is_refused(bad: str) -> None:
    with pytest.raises(manifests.ManifestsError, match="cannot be an address of downloads"):
        manifests.console(bad)


@pytest.mark.parametrize(
    ("plural", "text"),
    [("consoleclidownloads", manifests.console(DOWNLOADS)), ("consolenotifications", BANNER.read_text())],
    ids=["download", "banner"],
)
def test_openshift_takes_it(plural: str, text: str) -> None:
    offered = yaml.safe_load(text)
    jsonschema.validate(offered, schema(plural))
    offered["spec"]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(offered, schema(plural))
