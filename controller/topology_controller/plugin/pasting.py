"""What a command that is printed has to repeat: whoever pastes it means the same cluster, in the same name.

A wish that is made with `--context edge` and withdrawn without it would be another cluster's. So the flags that led
here stand in every line that is there to be pasted, behind `oc`, and behind `oc topology`, since a plugin takes none
before its name. KUBECONFIG is the shell's and need not be repeated. `-o json` says the commands as the operator and the
documentation do. `main` is the only user.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api import vocabulary

if TYPE_CHECKING:
    import argparse

_LINE = re.compile(r"(?m)(^ *|&& )oc (topology )?(?=[a-z-])")
_MENTIONED = re.compile(r"\boc topology (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Flags:
    """Those of the connection, as words of a shell; `own` are only known to `oc topology`."""

    place: tuple[str, ...] = ()
    acting: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: argparse.Namespace) -> Flags:
        """Those that were given."""
        place = _given(("--kubeconfig", options.kubeconfig), ("--context", options.context))
        insecure = ("--insecure-skip-tls-verify",) if options.insecure_skip_tls_verify else ()
        groups = [("--as-group", one) for one in options.as_group]
        namespace = options.operator_namespace
        other = namespace if namespace != vocabulary.DEFAULT_NAMESPACE else None
        return cls(
            (*place, *insecure),
            _given(("--as", options.as_user), *groups, ("--as-uid", options.as_uid)),
            _given(("--operator-namespace", other), ("--transitions-dir", options.transitions_dir)),
        )

    def lines(self, text: str) -> str:
        """A text, with the flags in every line that is a command."""

        def repeated(found: re.Match[str]) -> str:
            line = text[found.end() :].partition("\n")[0]
            # What is sent in somebody's name names them already.
            acting = () if " --as=" in line else self.acting
            begin, topology = found[1], found[2] or ""
            own = self.own if topology else ()
            return "".join((begin, "oc ", topology, *(f"{one} " for one in (*self.place, *acting, *own))))

        return _LINE.sub(repeated, text)

    def mentions(self, text: str) -> str:
        """A sentence, with the flags in every `oc topology` that it speaks of."""
        words = "".join(f"{one} " for one in (*self.place, *self.acting, *self.own))
        return _MENTIONED.sub(lambda found: f"{found[0]}{words}", text)


def _given(*flags: tuple[str, object]) -> tuple[str, ...]:
    return tuple(shlex.quote(f"{name}={value}") for name, value in flags if value is not None)
