"""The operator's check of etcd's members, and the simulator's etcd operator, held against real etcd members.

What a developer must know:

* Members are real processes with mutual TLS on loopback (`topology_simulator.etcd`). The binary is the one of
  KUBEBUILDER_ASSETS, else the one that `make envtest` builds; with ENVTEST_KUBERNETES=1.33 that of the oldest release.
* Starting three members takes about half a second, an election 0.3 s, and a step of growth five seconds when etcd is
  as strict as it is in production. So tests that only look share `three`, a healthy cluster for the whole module; a
  test that spoils something starts its own.
* `asking` puts one question the way the operator does: certificates from a folder, the survey, the fact, the check.
  Every fact besides the members is good, so that a check that is not Met owes it to etcd.
* A test that expects "not Met" also shows that the same question is Met when etcd is well; else it proves nothing.
"""
