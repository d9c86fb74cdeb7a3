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
version='' overrides='' listed='' blocked=''
kind=$(oc get crd clusterversions.config.openshift.io --ignore-not-found -o name)
[ -z "$kind" ] || version=$(oc get clusterversion version --ignore-not-found -o name)
if [ -n "$version" ]; then
  all='{.spec.overrides}{"\n"}{range .spec.overrides[*]}{.group}{"/"}{.kind}{"/"}{.name}{"/"}{.unmanaged}{"\n"}{end}'
  listed=$(oc get clusterversion version -o jsonpath="$all")
  overrides=$(printf '%s\n' "$listed" | sed -n 1p)
  listed=$(printf '%s\n' "$listed" | sed 1d)
fi
# Those of the definition, each with its number. The version operator goes by the first, and by no namespace: the kind
# has none.
entry="apiextensions.k8s.io/CustomResourceDefinition/$crd"
ours=$(printf '%s\n' "$listed" | grep -nxF -e "$entry/true" -e "$entry/false" || true)
first=${ours%%:*}
# Tested as a whole: an override that was set meanwhile is never hit.
tested='{"op":"test","path":"/spec/overrides","value":'"$overrides"'}'

price() {
  [ -n "$blocked" ] || return 0
  release=$(oc get clusterversion version -o jsonpath='{.status.desired.version}' || true)
  printf 'OpenShift %s with this override: ' "$release"
  case "$release" in
    4.2[2-9].* | 4.[3-9][0-9].* | [5-9].*)
      echo "patch updates start; minor and major ones do not until: sh crd-patch.sh remove" ;;
    *)
      echo "no update starts, not even a patch update, until: sh crd-patch.sh remove" ;;
  esac
}

unpatched() {
  price=$(price)
  fail "$crd was not patched. If it is not what this script was printed for, print it again.${price:+ $price}"
}

install() {
@GENERATION@  patch=''
  if [ -n "$version" ]; then
    case "$ours" in
      "$first:$entry/true"*) ;;
      "$first:$entry/false"*)
        patch=$tested',{"op":"replace","path":"/spec/overrides/'$((first - 1))'/unmanaged","value":true}' ;;
      *)
        patch='{"op":"add","path":"/spec/overrides/-","value":'$override'}'
        [ -n "$overrides" ] || patch='{"op":"add","path":"/spec/overrides","value":['$override']}' ;;
    esac
  fi
  [ -z "$patch" ] || oc patch clusterversion version --type json -p "[$patch]"
  blocked=$version
@ADD@
  price
}

remove() {
  phase=$(oc get infrastructure cluster -o jsonpath='{.status.@RECORD@.phase}')
  case "$phase" in
    @ADMITTING@ | @CONVERGING@)
      fail "The transition is $phase: without the fields nothing follows it. Nothing was removed: wait for its end." ;;
  esac
  oc patch infrastructure cluster --type merge -p '{"spec":{"@DESIRED@":null}}'
  if [ -n "$ours" ]; then
    patch=''
    for place in $(printf '%s\n' "$ours" | cut -d : -f 1 | sort -rn); do
      patch=$patch',{"op":"remove","path":"/spec/overrides/'$((place - 1))'"}'
    done
    [ "$ours" != "$(printf '%s\n' "$listed" | grep -n '')" ] || patch=',{"op":"remove","path":"/spec/overrides"}'
    oc patch clusterversion version --type json -p "[$tested$patch]"
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
