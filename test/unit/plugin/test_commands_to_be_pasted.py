"""A command that is printed means the cluster, and the user, that the command before it meant."""

from __future__ import annotations

import shlex

import pytest

from topology_controller.plugin import arguments, interruption, pasting

GIVEN = ("--context", "edge 7", "--kubeconfig=/k", "--as", "jane", "--as-group", "ops", "--operator-namespace", "ours")
PLACE = "--kubeconfig=/k '--context=edge 7'"
ACTING = "--as=jane --as-group=ops"
OURS = "--operator-namespace=ours"


def flags(*words: str) -> pasting.Flags:
    return pasting.Flags.of(arguments.parse(["status", *words]))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("  oc topology wait", f"  oc topology {PLACE} {ACTING} {OURS} wait"),
        ("  oc -n a get b", f"  oc {PLACE} {ACTING} -n a get b"),
        ("    oc debug x && oc annotate y", f"    oc {PLACE} {ACTING} debug x && oc {PLACE} {ACTING} annotate y"),
        ("  oc patch b --as=joe -p '{}'", f"  oc {PLACE} patch b --as=joe -p '{{}}'"),
        ("Look at oc get nodes", "Look at oc get nodes"),
        ("  docs topology", "  docs topology"),
    ],
)
def test_a_line_that_is_a_command_repeats_the_flags(line: str, wanted: str) -> None:
    text = f"First\n{line}\nlast\n"
    assert flags(*GIVEN).lines(text) == f"First\n{wanted}\nlast\n"
    assert flags().lines(text) == text


def test_what_is_printed_is_understood_and_means_the_same() -> None:
    printed = flags(*GIVEN, "--insecure-skip-tls-verify", "--as-uid", "7").lines("oc topology cancel\n")
    understood = arguments.parse(shlex.split(printed)[2:])
    assert pasting.Flags.of(understood) == flags(*GIVEN, "--insecure-skip-tls-verify", "--as-uid", "7")
    assert understood.verb == "cancel"


def test_a_sentence_about_a_command_repeats_them_too() -> None:
    left = interruption.Interruption()
    left.begin("wait", flags("--context", "edge"))
    assert left.flags.mentions(left.said).endswith("wait on with: oc topology --context=edge wait")
