"""Imports kubernetes_asyncio without its 755 models.

Whatever is imported from that package, its `__init__` modules load every model and API: 30 MiB that an operator which
works on raw objects never uses. So empty packages are registered in their place before the first import: they know
where their files are, so that single modules can be imported through them, and run nothing.

This depends on where the package keeps its files. If that has changed, or something in it fails, the ordinary import is
used, and a test that counts the loaded modules notices. `config` and `transport` take what they need from `library()`;
nothing else imports kubernetes_asyncio.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubernetes_asyncio.client.api_client import ApiClient
    from kubernetes_asyncio.client.configuration import Configuration

_LOG = logging.getLogger(__name__)
_ROOT = "kubernetes_asyncio"
_EMPTY = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.api", f"{_ROOT}.client.models")


@dataclass(frozen=True, slots=True)
class Library:
    """The few things of kubernetes_asyncio that we use."""

    make_api_client: Callable[[Configuration], ApiClient]
    make_configuration: Callable[[], Configuration]
    make_kubeconfig_merger: Callable[[str], Any]
    make_kubeconfig_loader: Callable[..., Any]
    make_exec_provider: Callable[[Any], Any]
    load_incluster_config: Callable[..., None]
    config_exception: type[Exception]


@functools.cache
def library() -> Library:
    """Return what we use of kubernetes_asyncio, imported on the first call.

    A package that has been imported before is used as it is. Raises ImportError when it is not installed.
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


def _register() -> None:
    for name in _EMPTY:
        # The parent is registered already, so this finds the child through the parent's path.
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"{name} is not a package")
        package = types.ModuleType(name)
        package.__spec__ = spec
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules[name] = package
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, package)
    # These two are what the rest of the package takes from `client` by name.
    client: Any = sys.modules[f"{_ROOT}.client"]
    client.Configuration = _module("client.configuration").Configuration
    client.ApiClient = _module("client.api_client").ApiClient


def _collect() -> Library:
    kube_config = _module("config.kube_config")
    return Library(
        make_api_client=_module("client.api_client").ApiClient,
        make_configuration=_module("client.configuration").Configuration,
        make_kubeconfig_merger=kube_config.KubeConfigMerger,
        make_kubeconfig_loader=kube_config.KubeConfigLoader,
        make_exec_provider=_module("config.exec_provider").ExecProvider,
        load_incluster_config=_module("config").load_incluster_config,
        config_exception=_module("config").ConfigException,
    )


def _module(name: str) -> Any:
    return importlib.import_module(f"{_ROOT}.{name}")
