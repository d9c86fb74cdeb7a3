# The patch depends on what the cluster serves. Get that, and print the script that adds our part to it:
@COST@set -e
oc get crd @NAME@ -o json > infrastructures-crd.json
cluster-topology-operator manifests --crd-patch --crd infrastructures-crd.json > crd-patch.sh
# Read crd-patch.sh, then: sh crd-patch.sh
# After the conversion: sh crd-patch.sh remove
