"""Which tests run one after the other in the same worker, because they share a real API server or a dear fixture.

A worker starts the real server for the first test that asks for it, and keeps it: seven seconds of a core, and 750 MB.
There are two such groups, because one would still run when all other tests have ended. xdist's own groups are not used:
with this pytest it cannot write them into the name of a test (`item._nodeid`).
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

_COMPONENT = "test/component/"
_ON_REAL = re.compile(r"[\[-]real[\]-]")
_ON_EMBEDDED = re.compile(r"[\[-]embedded[\]-]")
_SHARING = frozenset(
    f"test_{name}"
    for name in ("changes_refused", "growing", "lost_voter", "openshift_definitions", "plugin", "serving_to_others")
)
_WITH_THEIR_OWN = frozenset({"test_elsewhere", "test_several_api_servers", "test_sites"})
"""Of these, too, what runs on the embedded server may be anywhere."""
_DEAR = frozenset({"hack/simulator_tests/parity/test_parity.py"})
"""Each worker that runs some of these would make what they share, which takes seconds."""


def group(test: str) -> str:
    """Return the group of a test by its name; its own name where it is alone."""
    file = test.partition("::")[0]
    if not file.startswith(_COMPONENT):
        return file if file in _DEAR else test
    name = file.removeprefix(_COMPONENT).removesuffix(".py")
    if name == "test_installing_and_leaving":
        return name
    if name in _WITH_THEIR_OWN and not _ON_EMBEDDED.search(test):
        return "servers"
    if name.startswith(("admission/", "rights/")) or (name in _SHARING and not _ON_EMBEDDED.search(test)):
        return "admission"
    return "real" if _ON_REAL.search(test) else test


class Grouped(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types here
    """Hands out groups first, the largest before the others, and then test by test, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)
