# What a cluster has that pages refer to, and a cluster in a box has not: `make lab CLIENT=oc` runs it before it begins.
cluster-topology-operator manifests --without-monitoring --image registry.example.com/x:1 | oc apply -f -
oc -n openshift-etcd create secret generic etcd-client --from-literal=tls.crt=x --from-literal=tls.key=x
oc -n openshift-etcd annotate secret etcd-client auth.openshift.io/certificate-not-after=2027-01-31T12:00:00Z
oc -n openshift-etcd create configmap etcd-ca-bundle --from-literal=ca-bundle.crt=x
oc -n openshift-machine-api create secret generic master-user-data-managed --from-literal=userData=x
oc patch clusterversion version --type merge \
  -p '{"spec":{"overrides":[{"kind":"X","group":"x","namespace":"","name":"x","unmanaged":true}]}}'
oc -n kube-system create configmap cluster-config-v1 --from-literal=install-config=x
request=$(openssl req -new -newkey rsa:2048 -nodes -keyout /dev/null -subj /O=system:nodes/CN=system:node:of-a-lab | base64 -w0)
oc create -f - <<CSR
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: of-a-lab}
spec: {signerName: kubernetes.io/kubelet-serving, usages: [digital signature, server auth], request: "$request"}
CSR
