"""Puts the loggers of this process back as they were."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def untouched() -> Iterator[None]:
    """Put the loggers back as they were."""
    root = logging.getLogger()
    names = ("topology_controller", "topology_api")
    before = root.level, list(root.handlers), [logging.getLogger(name).level for name in names]
    yield
    logging.captureWarnings(capture=False)
    for handler in list(root.handlers):
        if handler not in before[1]:
            root.removeHandler(handler)
            handler.close()
    root.handlers[:] = before[1]
    root.setLevel(before[0])
    for name, level in zip(names, before[2], strict=True):
        logging.getLogger(name).setLevel(level)
