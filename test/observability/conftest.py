"""Each story is a file of its own, so that they can be played side by side:

    pytest -n 4 --dist loadfile --no-loadscope-reorder test/observability

The longest come first; otherwise one of them would begin when all the rest is done, and the others would wait for it.
"""

from __future__ import annotations

import pathlib

import pytest

_HERE = pathlib.Path(__file__).parent
_LONGEST = ("page/test_pictures.py", "test_blocked.py", "test_happy_path.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest stories first; let a socket of the scaffolding be collected late, as test/sessions.py does."""
    places = {_HERE / name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
