"""Writes the table of Kubernetes' own types that the embedded API server reads: their fields, and how these merge.

kubectl patches built-in kinds by the merge keys of their lists, which are kept in the tags of Go fields. This reads
them from the modules that `hack/envtest/go.mod` pins. Only types that the served kinds reach are written. It needs Go,
and is run when that pin changes:

    python hack/merge_keys.py [--check]

`topology_simulator.apiserver.strategic` says what a line of the table means.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys

_HERE = pathlib.Path(__file__).resolve().parent
TABLE = _HERE / "topology_simulator" / "apiserver" / "merge_keys.txt"
_PACKAGES = {
    "meta": ("k8s.io/apimachinery", "pkg/apis/meta/v1"),
    **{
        name: ("k8s.io/api", f"{name}/v1")
        for name in (
            "core", "apps", "policy", "networking", "rbac", "coordination", "events",
            "admissionregistration", "authentication", "authorization", "certificates",
        )
    },
}  # fmt: skip
_ROOTS = (
    *(f"core.{kind}" for kind in ("ConfigMap", "Event", "Namespace", "Node", "Pod", "Secret", "Service")),
    "core.ServiceAccount", "apps.Deployment", "apps.StatefulSet", "policy.PodDisruptionBudget",
    "networking.NetworkPolicy", "coordination.Lease", "events.Event", "certificates.CertificateSigningRequest",
    *(f"rbac.{kind}" for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
    "admissionregistration.ValidatingAdmissionPolicy", "admissionregistration.ValidatingAdmissionPolicyBinding",
    "authentication.TokenReview", "authentication.SelfSubjectReview", "authorization.SubjectAccessReview",
    "authorization.SelfSubjectAccessReview", "authorization.SelfSubjectRulesReview",
)  # fmt: skip
_LEAVES = {
    "meta.Time": "time", "meta.MicroTime": "microtime", "meta.Duration": "duration", "meta.FieldsV1": "raw",
    "resource.Quantity": "quantity", "intstr.IntOrString": "intorstring", "runtime.RawExtension": "raw",
    "types.UID": "string", "types.NamespacedName": "string", "types.NodeName": "string",
}  # fmt: skip
_PLAIN = ("string", "bool", "int32", "int64", "uint64", "float64", "bytes", *_LEAVES.values())
_ALIASES = {"metav1": "meta", "v1": "core", "corev1": "core"}
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_OTHER = re.compile(r"^type (\w+) ([\w\[\].]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([*\[\]\w.]+)\s+`(.*?)`", re.MULTILINE)
_TAG = re.compile(r'(\w+):"([^"]*)"')


class _Sources:
    """The Go sources of the packages: structs by their name, and what other names stand for."""

    def __init__(self) -> None:
        self.structs: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for package, (module, folder) in _PACKAGES.items():
            place = pathlib.Path(_go("list", "-m", "-f", "{{.Dir}}", module)) / folder
            for file in sorted(place.glob("*.go")):
                text = file.read_text(encoding="utf-8")
                self.structs |= {f"{package}.{name}": body for name, body in _STRUCT.findall(text)}
                self._names |= {f"{package}.{name}": kind for name, kind in _OTHER.findall(text)}

    def type_of(self, go: str, package: str) -> str:
        """Return a Go type as the table writes it. Raises SystemExit for one that it has no word for."""
        for prefix, mark in (("*", "*"), ("[]byte", "bytes"), ("[]", "[]")):
            if go.startswith(prefix):
                return mark + self.type_of(go.removeprefix(prefix), package) if prefix != "[]byte" else mark
        if match := re.fullmatch(r"map\[[\w.]+\](.+)", go):
            return "{}" + self.type_of(match[1], package)
        if go in _PLAIN:
            return go
        home, _, name = go.rpartition(".")
        full = f"{_ALIASES.get(home, home) or package}.{name}"
        if full in _LEAVES:
            return _LEAVES[full]
        if full in self.structs:
            return full
        if full in self._names:
            return self.type_of(self._names[full], full.partition(".")[0])
        raise SystemExit(f"{full} in {package} is no type that is known here")


def _go(*arguments: str) -> str:
    command = ["go", *arguments]
    return subprocess.run(command, cwd=_HERE / "envtest", capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own words


def _line(name: str, sources: _Sources) -> tuple[str, list[str]]:
    """Return a type's line, and the types that it names."""
    package = name.partition(".")[0]
    words, below = [name], []
    for _, go, tags in _FIELD.findall(sources.structs[name]):
        tag = dict(_TAG.findall(tags))
        if "protobuf" not in tag:
            continue
        kind = sources.type_of(go, package)
        json = tag["json"].partition(",")[0]
        merge = [tag["patchStrategy"], tag.get("patchMergeKey", "")] if "patchStrategy" in tag else []
        words.append(":".join(part for part in (json, kind, *merge) if part or part == json))
        below.append(kind.lstrip("*[]{}"))
    return " ".join(words), [kind for kind in below if kind not in _PLAIN]


def text() -> str:
    """Return the table as it has to be. Raises CalledProcessError where Go or the modules are missing."""
    sources = _Sources()
    lines: dict[str, str] = {}
    waiting = list(_ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in lines:
            lines[name], below = _line(name, sources)
            waiting += below
    version = _go("list", "-m", "-f", "{{.Version}}", "k8s.io/api")
    head = f"# Written by hack/merge_keys.py from the field tags of k8s.io/api {version}. Do not edit.\n"
    return head + "".join(f"{lines[name]}\n" for name in sorted(lines))


def main() -> int:
    """Write the table, or compare it; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the table of Kubernetes' own types.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the table is not current")
    wanted = text()
    if not parser.parse_args().check:
        TABLE.write_text(wanted, encoding="utf-8")
    elif TABLE.read_text(encoding="utf-8") != wanted:
        print(f"{TABLE} is not current: run python {__file__}", file=sys.stderr)  # noqa: T201 - a command of the repository
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
