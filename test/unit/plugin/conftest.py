"""Each test runs as if a person had typed `oc topology`: what is printed must not depend on what started the tests."""

from collections.abc import Iterator

import pytest

from kubectl_topology import naming


@pytest.fixture(autouse=True)
def _typed_oc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("_", "/usr/bin/oc")
    naming.caller.cache_clear()
    yield
    naming.caller.cache_clear()
