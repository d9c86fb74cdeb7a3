#!/bin/sh
#
#     sh crd-patch.sh            add spec.@DESIRED@, status.@RECORD@, their rules and columns to the
#                                served definition, and nothing else
#     sh crd-patch.sh remove     take them out, with the request, the record and the columns that show it; refused
#                                while a transition is @ADMITTING@ or @CONVERGING@
#
@COST@
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
  all='{.spec.overrides}{"\n"}{range .spec.overrides[*]}{.group}{"/"}{.kind}{"/"}{.name}{"\n"}{end}'
  listed=$(oc get clusterversion version -o jsonpath="$all")
  overrides=$(printf '%s\n' "$listed" | sed -n 1p)
  listed=$(printf '%s\n' "$listed" | sed 1d)
fi
place=$(printf '%s\n' "$listed" | grep -nxF "apiextensions.k8s.io/CustomResourceDefinition/$crd" | cut -d : -f 1)

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
    [ "$(printf '%s\n' "$listed" | wc -l)" -gt 1 ] || path=/spec/overrides
    oc patch clusterversion version --type json \
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
