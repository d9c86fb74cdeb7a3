"""Flags of the verbs that write, and in whose name everything is asked."""

from __future__ import annotations

import pytest

from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.plugin import arguments, cluster

_INFRASTRUCTURES = resources.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")
_REFUSED = (
    'users "jane" is forbidden: User "joe" cannot impersonate resource "users" in API group "" at the cluster scope'
)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["set"], "TARGET is missing. See: oc topology set --help"),
        (["set", "Highlyavailable"], "did you mean HighlyAvailable?"),
        (["set", "HighlyAvailable", "--wait"], "--wait needs --confirm"),
        (["set", "HighlyAvailable", "--confirm", "--timeout", "5m"], "--timeout is for --wait"),
        (["set", "HighlyAvailable", "--skip-checks"], "unknown flag --skip-checks"),
        (["set", "HighlyAvailable", "--force"], "unknown flag --force"),
        (["cancel", "HighlyAvailable"], "unknown word HighlyAvailable"),
        (["status", "--as-group", "ops"], "are about the user of --as"),
        (["--as-uid", "7", "status"], "are about the user of --as"),
        (["status", "--as", ""], "is no name"),
        (["status", "--as", "jane\r\nX-Admin: 1"], "is no name"),
    ],
)
def test_what_makes_no_sense_is_bad_usage(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments.parse(words)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--as", "jane", "--as-group", "ops", "--as-group", "all", "--as-uid", "7", "status"],
        ["status", "--as", "jane", "--as-group", "ops", "--as-group", "all", "--as-uid", "7"],
        ["--as", "jane", "--as-group", "ops", "status", "--as-group", "all", "--as-uid", "7"],
    ],
)
def test_somebody_else_is_named_on_either_side_of_the_verb(words: list[str]) -> None:
    found = arguments.parse(words)
    acting = cluster.Acting.of(found.as_user, found.as_group, found.as_uid)
    assert acting is not None
    assert acting.headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Group", "all"),
        ("Impersonate-Uid", "7"),
    )
    assert str(acting) == "jane in ops, all"


@pytest.mark.parametrize(
    ("acting", "message", "words"),
    [
        (cluster.Acting("jane", ("ops",)), _REFUSED, f"you may not act as jane in ops: {_REFUSED}"),
        (
            cluster.Acting("jane"),
            'User "jane" cannot get resource',
            "forbidden: jane needs permission to get infrastructures",
        ),
        (None, 'User "joe" cannot get resource', "forbidden: you need permission to get infrastructures"),
    ],
)
def test_whose_right_lacks_is_told(acting: cluster.Acting | None, message: str, words: str) -> None:
    made = cluster.Connection(None, "https://api.example.com:6443", acting)  # type: ignore[arg-type] # not asked
    error = kube.Forbidden("get", _INFRASTRUCTURES, None, "cluster", 403, "Forbidden", message)
    assert str(cluster.explained(made, error)).startswith(words)
