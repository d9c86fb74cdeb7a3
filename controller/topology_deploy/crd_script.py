"""The script that `manifests --crd-patch` prints: our part into a served definition of Infrastructure, and out of it.

`topology_api.crd_patch` makes both JSON patches; this module says what they cost and wraps them into one shell script
with `oc`, whose argument is `install` (the default) or `remove`. Nothing is applied here.

Sources of what the script relies on, all cluster-version-operator: overrides and updates in
pkg/payload/precondition/clusterversion/upgradeable.go (release-4.20, release-4.21, release-4.22); the owner reference
of what a payload owns in pkg/cvo/cvo.go, ownerReferenceModifier (release-4.20, release-4.22).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from topology_api import crd, crd_patch, vocabulary
from topology_api import served as served_fields
from topology_api.vocabulary import Phase
from topology_controller import shell

if TYPE_CHECKING:
    from topology_api.crd import Edge

_COST = f"""\
# The version operator puts the definition of its release payload back within minutes, and with our part the request
# and the record go. An override keeps it away from {crd.NAME}, and costs, while it is set:
#   * OpenShift 4.21 and older: no update starts, patch (z-stream) updates included (ClusterVersionOverridesSet);
#   * OpenShift 4.22 and newer: patch updates start, updates to the next minor or major version do not;
#   * what an update changes in this definition does not arrive.
# So install it for the conversion, and remove it afterwards.
"""

OVERRIDE = {
    "kind": "CustomResourceDefinition",
    "group": "apiextensions.k8s.io",
    "namespace": "",
    "name": crd.NAME,
    "unmanaged": True,
}
"""The entry of ClusterVersion's spec.overrides that keeps the version operator away from the definition."""

_SCRIPT = """\
set -eu

crd='@NAME@'
override='@OVERRIDE@'
changed="$crd is not what this script was printed for: print it again"

fail() {
  echo "$*" >&2
  exit 1
}

# One read: the overrides as JSON, then one line for each. A cluster that is not OpenShift has not even the kind.
version='' overrides='' listed=''
kind=$(oc get crd clusterversions.config.openshift.io --ignore-not-found -o name)
[ -z "$kind" ] || version=$(oc get clusterversion version --ignore-not-found -o name)
if [ -n "$version" ]; then
  all='{.spec.overrides}{"\\n"}{range .spec.overrides[*]}{.group}{"/"}{.kind}{"/"}{.name}{"\\n"}{end}'
  listed=$(oc get clusterversion version -o jsonpath="$all")
  overrides=$(printf '%s\\n' "$listed" | sed -n 1p)
  listed=$(printf '%s\\n' "$listed" | sed 1d)
fi
place=$(printf '%s\\n' "$listed" | grep -nxF "apiextensions.k8s.io/CustomResourceDefinition/$crd" | cut -d : -f 1)

price() {
  release=$(oc get clusterversion version -o jsonpath='{.status.desired.version}')
  case "$release" in
    4.2[2-9].* | 4.[3-9][0-9].* | [5-9].*)
      echo "OpenShift $release: patch updates start; minor and major ones do not until: sh crd-patch.sh remove" ;;
    *)
      echo "OpenShift $release: no update starts, not even a patch update, until: sh crd-patch.sh remove" ;;
  esac
}

install() {
@GENERATION@  if [ -n "$version" ] && [ -z "$place" ]; then
    case "$overrides" in
      '') patch='[{"op":"add","path":"/spec/overrides","value":['"$override"']}]' ;;
      *) patch='[{"op":"add","path":"/spec/overrides/-","value":'"$override"'}]' ;;
    esac
    oc patch clusterversion version --type json -p "$patch"
  fi
@ADD@
  [ -z "$version" ] || price
}

remove() {
  phase=$(oc get infrastructure cluster -o jsonpath='{.status.@RECORD@.phase}')
  case "$phase" in
    @ADMITTING@ | @CONVERGING@)
      fail "The transition is $phase: without the fields nothing follows it. Nothing was removed: wait for its end." ;;
  esac
  oc patch infrastructure cluster --type merge -p '{"spec":{"@DESIRED@":null}}'
  if [ -n "$place" ]; then
    # Tested as a whole: an override that was set meanwhile is never hit.
    path="/spec/overrides/$((place - 1))"
    [ "$(printf '%s\\n' "$listed" | wc -l)" -gt 1 ] || path=/spec/overrides
    oc patch clusterversion version --type json \\
      -p '[{"op":"test","path":"/spec/overrides","value":'"$overrides"'},{"op":"remove","path":"'"$path"'"}]'
  fi
  owner=$(oc get crd "$crd" -o jsonpath='{.metadata.ownerReferences[?(@.kind=="ClusterVersion")].name}')
  fields='{.spec.versions[?(@.name=="@VERSION@")].schema.openAPIV3Schema.properties.spec.properties.@DESIRED@.type}'
  if [ -n "$owner" ]; then
    echo "The version operator puts its own $crd back, within minutes."
  elif [ -n "$(oc get crd "$crd" -o jsonpath="$fields")" ]; then
@REMOVE@
  fi
}

case "${1:-install}" in
  install) install ;;
  remove) remove ;;
  *) fail "usage: sh crd-patch.sh [install | remove]" ;;
esac
"""


def how_to_print() -> str:
    """Return how to get the script: it depends on what the cluster serves."""
    return f"""\
# The patch depends on what the cluster serves. Get that, and print the script that adds our part to it:
{_COST}set -e
oc get crd {crd.NAME} -o json > infrastructures-crd.json
{vocabulary.OPERATOR_NAME} manifests --crd-patch --crd infrastructures-crd.json > crd-patch.sh
# Read crd-patch.sh, then: sh crd-patch.sh
# After the conversion: sh crd-patch.sh remove
"""


def script(served: dict[str, Any], edges: tuple[Edge, ...]) -> str:
    """Return the script for a served definition.

    Run without an argument it adds our part, `remove` takes it out; both end with an error, and change no more, when
    the definition is not the one that was given. Raises crd_patch.NotPatchableError when our part does not fit.
    """
    operations = crd_patch.add(served, edges)
    back = crd_patch.remove(crd_patch.apply(served, operations))
    generation = served_fields.mapping(served.get("metadata")).get("generation")
    text = _SCRIPT
    for mark, value in (
        ("GENERATION", _unchanged(generation) if operations and generation else ""),
        ("ADD", _patch(operations) if operations else '  echo "$crd has our part at this level"'),
        ("REMOVE", _patch(back)),
        ("OVERRIDE", json.dumps(OVERRIDE, separators=(",", ":"))),
        ("ADMITTING", Phase.ADMITTING.value),
        ("CONVERGING", Phase.CONVERGING.value),
        ("NAME", crd.NAME),
        ("VERSION", crd.VERSION),
        ("RECORD", crd.RECORD),
        ("DESIRED", crd.DESIRED),
    ):
        text = text.replace(f"@{mark}@", value)
    return f"""\
#!/bin/sh
#
#     sh crd-patch.sh            add spec.{crd.DESIRED}, status.{crd.RECORD}, their rules and columns to the
#                                served definition, and nothing else
#     sh crd-patch.sh remove     take them out, with the request, the record and the columns that show it; refused
#                                while a transition is {Phase.ADMITTING.value} or {Phase.CONVERGING.value}
#
{_COST}
{text}"""


def _unchanged(generation: object) -> str:
    """A rule is appended: a patch that is sent twice would append it twice."""
    read = "oc get crd \"$crd\" -o jsonpath='{.metadata.generation}'"
    wanted = shell.command("{}", generation)
    return f'  [ "$({read})" = {wanted} ] || fail "$changed"\n'


def _patch(operations: list[dict[str, Any]]) -> str:
    listed = ",\n".join(json.dumps(operation, ensure_ascii=True) for operation in operations)
    return f"""\
  oc patch crd "$crd" --type json --patch-file /dev/stdin <<'PATCH' || fail "$changed"
[{listed}]
PATCH"""
