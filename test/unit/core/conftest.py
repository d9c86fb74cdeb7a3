from __future__ import annotations

import pytest

from .clusters import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """A single-node cluster that is ready to move; nothing is requested yet."""
    return Cluster()
