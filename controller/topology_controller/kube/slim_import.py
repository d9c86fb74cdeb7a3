"""Imports kubernetes_asyncio without its 755 models.

Whatever is imported from that package, its `__init__` modules load every model and API: 30 MiB that an operator which
works on raw objects never uses. So empty packages are registered in their place before the first import: they know
where their files are, so that single modules can be imported through them, and run nothing. `config` takes what it
needs from `library()`; nothing else imports kubernetes_asyncio.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import sys
import types
from typing import Any

_LOG = logging.getLogger(__name__)
_ROOT = "kubernetes_asyncio"
_EMPTY = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.api", f"{_ROOT}.client.models")


@functools.cache
def library() -> Any:
    """Return kubernetes_asyncio with the modules that we use, imported on the first call.

    Where its files are elsewhere the ordinary import is used; a test counts the modules that are loaded.
    """
    if _ROOT not in sys.modules:
        try:
            _register()
            return _collect()
        except Exception as error:  # noqa: BLE001 - whatever is different in that package, the ordinary import may still work
            _LOG.warning("kubernetes_asyncio is loaded whole, which takes 30 MiB more: %(error)s", {"error": error})
            for name in [name for name in sys.modules if name.partition(".")[0] == _ROOT]:
                del sys.modules[name]
    return _collect()


def _collect() -> Any:
    for name in ("client.configuration", "config.kube_config"):
        importlib.import_module(f"{_ROOT}.{name}")
    return sys.modules[_ROOT]


def _register() -> None:
    for name in _EMPTY:
        # The parent is registered already, so this finds the child through the parent's path.
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"{name} is not a package")
        sys.modules[name] = package = types.ModuleType(name)
        package.__spec__, package.__path__ = spec, list(spec.submodule_search_locations)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, package)
    # These two are what the rest of the package takes from `client` by name; the second one for annotations only.
    client: Any = sys.modules[f"{_ROOT}.client"]
    client.Configuration = importlib.import_module(f"{_ROOT}.client.configuration").Configuration
    client.ApiClient = object
