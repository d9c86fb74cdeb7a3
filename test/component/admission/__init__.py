"""The admission policies of the manifests, in force on a real kube-apiserver; ours at home has none.

policy_server  a cluster with the policies, and people with rights of every sort, lent by impersonation
changes        what they try, as requests
"""
