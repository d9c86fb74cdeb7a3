"""No command that is shown takes a value but by `shell.command`, and hack/commands.py sees each that does."""

import pytest

import commands


def test_no_command_takes_a_value_but_by_the_function_that_quotes() -> None:
    beginnings = commands.constants()
    assert "LOOK" in beginnings, "else a command in a constant is not seen"
    wrong = {
        f"{path.relative_to(commands.ROOT)}:{line}: {command}"
        for path in commands.files()
        if path.name != "shell.py"
        for line, command in commands.refused(path.read_text(encoding="utf-8"), beginnings)
    }
    assert sorted(wrong) == []


@pytest.mark.parametrize(
    "source",
    [
        'f"oc get node {name}"',
        'f"Look at: oc -n {namespace} get pods"',
        'f"{text}. Look at oc get node {node.name}"',
        'f"{_OC} describe baremetalhost {host.name}"',
        '_OC + " describe " + name',
        '"oc get node " + name',
        '"oc get node {}".format(name)',
        '"oc get node {node}".format(node=name)',
        '"oc get node %s" % name',
        '" ".join(["oc", "get", name])',
        'f"oc patch infrastructure cluster --type merge -p {shlex.quote(body)}"',
        """f'''oc patch x --type merge -p '{{"spec":{{"replicas":{count}}}}}\\''''""",
        'f"kubectl annotate node {joined[-1]} {POWER}"',
        'f"oc debug node/{homes[0].name} -- chroot /host && oc get nodes"',
        'f"oc topology plan {target}"',
        "shell.command(text, name)",
        'shell.command(f"oc get {kind} {{}}", name)',
    ],
)
def test_a_command_that_is_put_together_is_seen(source: str) -> None:
    assert list(commands.refused(source, {"_OC": "oc -n openshift-machine-api"})) != []
