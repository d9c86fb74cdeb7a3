"""The version of the operator, in one place: the build backend, `version` and the ClusterOperator read it here."""

__version__ = "0.2.0.dev0"
