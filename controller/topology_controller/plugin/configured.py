"""The definitions as the operator of this cluster is configured to ask them, for whoever may read that.

The operator follows a mounted ConfigMap; whoever plans reads the same one, so that both judge by the same minimum of a
node's resources. Who may not read it, and who reads one that is no good, is told that the defaults were taken: the
operator may go on with one that it has read before. What no request could find out is left to the requests that follow.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from topology_api import vocabulary

from ..configuration import model as settings
from ..files import read
from ..kube import errors as kube
from ..kube import resource as resources

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..transitions import load
    from . import connection

_CONFIG_MAPS = resources.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
_PATIENCE = 1.0
"""Seconds: a server that does not answer is told of by the next request, in its own words."""


async def transitions(
    made: connection.Connection, namespace: str, found: load.Transitions, tell: Callable[[str], None]
) -> load.Transitions:
    """The definitions with what ConfigMap cluster-topology-operator-config says; `tell` gets a line where it is not so.

    One request. Never raises for what that answers.
    """
    what = _CONFIG_MAPS.describe(vocabulary.CONFIGURATION, namespace)
    patience = min(_PATIENCE, made.client.request_timeout)
    try:
        raw = await made.client.get(_CONFIG_MAPS, vocabulary.CONFIGURATION, namespace=namespace, timeout=patience)
    except kube.Forbidden:
        tell(f"you lack the right to get {what}: judged by the defaults, the operator may be configured otherwise")
        return found
    except kube.KubeError:
        return found
    data = raw.get("data")
    text = data.get(vocabulary.CONFIGURATION_KEY) if isinstance(data, dict) else None
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else None
    names = [one.name for one in found.definitions]
    try:
        return settings.applied(found, settings.load(pathlib.Path(what, vocabulary.CONFIGURATION_KEY), content, names))
    except read.DefinitionError as error:
        trouble = "; ".join(settings.complaints(error))
        tell(
            f"the configuration of the operator cannot be used: {trouble}. Judged by the defaults; the operator "
            "goes on with the last good one"
        )
        return found
