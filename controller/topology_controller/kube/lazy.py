"""Imports kubernetes_asyncio without its 755 models.

Whatever is imported from that package, its `__init__` modules load every model and API: 30 MiB that an
operator which works on raw objects never uses. So stand-ins for four packages are registered before the
first import. A stand-in knows where its files are, so that single modules can be imported through it.
Asked for a name that it does not have, it runs the real `__init__` and becomes the ordinary package:
nothing is lost, only later.

This depends on where the package keeps its files. If that has changed, or something in it fails, the
ordinary import is used, and a test that counts the loaded modules says so. Neighbours: `config` and
`transport` take what they need from `library()`; nobody else imports kubernetes_asyncio.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import pathlib
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
_STAND_INS = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.api", f"{_ROOT}.client.models")
# Names that are asked for by the import system and by debuggers, and that must not run the real package.
_REAL_DUNDERS = frozenset({"__version__", "__project__", "__all__"})
_EXPECTED = ("client/api_client.py", "client/rest.py", "client/configuration.py", "client/exceptions.py")


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


class _StandIn(types.ModuleType):
    """A package whose `__init__` has not run yet."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _REAL_DUNDERS:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        child = f"{self.__name__}.{name}"
        if name.isidentifier() and importlib.util.find_spec(child) is not None:
            return importlib.import_module(child)
        _LOG.debug(
            "%(package)s is asked for %(name)s: the whole package is loaded", {"package": self.__name__, "name": name}
        )
        # From here on an ordinary module: what is missing is missing.
        self.__class__ = types.ModuleType  # type: ignore[assignment] # the documented way to stop being lazy
        spec = self.__spec__
        if spec is None or spec.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        spec.loader.exec_module(self)
        return getattr(self, name)


@functools.cache
def library() -> Library:
    """Return what we use of kubernetes_asyncio, imported on the first call.

    An earlier ordinary import by somebody else in this process is used as it is.
    Raises ImportError when the package is not installed.
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
    spec = importlib.util.find_spec(_ROOT)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise ImportError(f"{_ROOT} is not an ordinary package")
    missing = [name for name in _EXPECTED if not (pathlib.Path(places[0]) / name).is_file()]
    if missing:
        raise ImportError(f"{_ROOT} has no {', '.join(missing)}")
    for name in _STAND_INS:
        # The parent is registered already, so this finds the child through the parent's path.
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"{name} is not a package")
        module = _StandIn(name)
        module.__spec__ = spec
        module.__path__ = list(spec.submodule_search_locations)
        module.__file__ = spec.origin
        module.__package__ = name
        module.__loader__ = spec.loader
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    # These two are what the rest of the package takes from `client` by name.
    client = sys.modules[f"{_ROOT}.client"]
    for leaf, name in (("configuration", "Configuration"), ("api_client", "ApiClient")):
        module = importlib.import_module(f"{_ROOT}.client.{leaf}")  # type: ignore[assignment] # any module will do here
        setattr(client, name, getattr(module, name))


def _collect() -> Library:
    api_client = importlib.import_module(f"{_ROOT}.client.api_client")
    configuration = importlib.import_module(f"{_ROOT}.client.configuration")
    config = importlib.import_module(f"{_ROOT}.config")
    kube_config = importlib.import_module(f"{_ROOT}.config.kube_config")
    return Library(
        make_api_client=api_client.ApiClient,
        make_configuration=configuration.Configuration,
        make_kubeconfig_merger=kube_config.KubeConfigMerger,
        make_kubeconfig_loader=kube_config.KubeConfigLoader,
        make_exec_provider=importlib.import_module(f"{_ROOT}.config.exec_provider").ExecProvider,
        load_incluster_config=config.load_incluster_config,
        config_exception=config.ConfigException,
    )
