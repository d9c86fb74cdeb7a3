"""Every object that we ask people to apply is one that its kind allows, with no field too much, old and new.

Kinds of Kubernetes are judged by the schemas of its releases. Supported is OpenShift from 4.20 on, which is Kubernetes
1.33 (a release of OpenShift 4 is one of Kubernetes, 13 minor numbers lower); the newest is whatever kubernetes-validate
knows. Kinds of OpenShift and of monitoring are judged by the definitions of the simulated cluster, read as strictly: a
field that is not in them is a mistake. An object whose kind neither of them knows fails.
"""

import functools
from collections.abc import Iterator
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from topology_deploy import manifests
from topology_simulator import install

LOADER = yaml.CSafeLoader
OLDEST = "1.33"
NEWEST = ".".join(kubernetes_validate.latest_version().split(".")[:2])
OBJECTS: list[dict[str, Any]] = [
    *yaml.load_all(manifests.render(), LOADER),
    *yaml.load_all(manifests.whole_crd(), LOADER),
    *yaml.load_all(manifests.elsewhere("target", None, "openshift-topology-operator", monitoring=True), LOADER),
    *yaml.load_all(manifests.elsewhere("management", None, "topology-edge-1", monitoring=True), LOADER),
]
OPEN = {"type": "object"}


def strict(schema: dict[str, Any], *, top: bool = True) -> dict[str, Any]:
    """A definition's schema, in which what is not named is not allowed; metadata is the API server's."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return {**OPEN}
    made = {key: value for key, value in schema.items() if key in {"type", "enum", "pattern", "required", "nullable"}}
    if made.pop("nullable", False):
        made["type"] = [made["type"], "null"]
    if "properties" in schema:
        made["properties"] = {name: strict(one, top=False) for name, one in schema["properties"].items()}
        made["additionalProperties"] = False
        if top:
            made["properties"] |= {"metadata": OPEN, "apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = strict(schema["additionalProperties"], top=False)
    if "items" in schema:
        made["items"] = strict(schema["items"], top=False)
    return made


def definitions() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]): strict(
            version["schema"]["openAPIV3Schema"]
        )
        for crd in install.definitions()
        for version in crd["spec"]["versions"]
    }


CUSTOM = definitions()


@pytest.fixture(autouse=True, scope="module")
def _read_once() -> Iterator[None]:
    """The schemas of a release are two megabytes, which kubernetes-validate reads anew for every object."""
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(kubernetes_validate.utils.schema_contents)
        patch.setattr(kubernetes_validate.utils, "schema_contents", once)
        yield


def judge(one: dict[str, Any], release: str) -> None:
    """Raise what is wrong with an object; KeyError when nobody knows its kind."""
    try:
        judged_by = kubernetes_validate.validate(one, release, strict=True)
        assert judged_by == release, "it has no schemas of that release"
    except kubernetes_validate.SchemaNotFoundError:
        jsonschema.validate(one, CUSTOM[one["apiVersion"], one["kind"]])


@pytest.mark.parametrize("release", [OLDEST, NEWEST])
@pytest.mark.parametrize("one", OBJECTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_every_object_is_valid(one, release):
    judge(one, release)
