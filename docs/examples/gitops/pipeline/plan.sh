#!/bin/sh
# A step of a pipeline, before a merge: would the cluster take this request?
#
#     plan.sh clusters/edge-1
#
# The name of the folder is the context in KUBECONFIG; role cluster-reader will do. It ends with the exit code of the
# plan: 0 possible or fulfilled, 1 a wrong file or an error, 3 blocked by a check, 4 no transition leads there.
# With ALLOW_PENDING=true a blocked request is let through: the operator waits until every check is met.
set -u
cluster=$(basename "$1")
code=0
kubectl-topology plan -f "$1/infrastructure.yaml" --context "$cluster" || code=$?
if [ "$code" -eq 3 ] && [ "${ALLOW_PENDING:-}" = true ]; then
  echo "$cluster: blocked now; the operator waits until every check is met"
  code=0
fi
exit "$code"
