"""The CEL functions of Kubernetes that rules here may use besides those of the runtime.

Strings, math, optional values and bindings come with the runtime. Added is what OpenShift's own definitions of the
simulated kinds use: addresses and URLs. A rule with any other function (sorting, quantities, sets, `find`, formats,
two-variable macros) is refused when its definition is created: the compiler does not know it. Values of the
opaque types (an IP, a URL) are maps, which rules cannot tell.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings  # type: ignore[import-untyped]  # as above

if TYPE_CHECKING:
    from collections.abc import Callable

_OPAQUE = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _is_ip(text: str) -> bool:
    return "%" not in text and _parses(ipaddress.ip_address, text)


def _is_cidr(text: str) -> bool:
    return "/" in text and _parses(lambda network: ipaddress.ip_network(network, strict=False), text)


def _is_url(text: str) -> bool:
    return _parses(urlsplit, text) and (text.startswith("/") or bool(urlsplit(text).scheme))


def _function(
    name: str, parameter: cel.Type, result: cel.Type, body: Callable[[Any], Any], *, member: bool = False
) -> cel.FunctionDecl:
    overload = cel.Overload(f"kubernetes_{name}", result, [parameter], is_member=member, impl=body)
    return cel.FunctionDecl(name, [overload])


def extensions() -> list[cel.CelExtensionBase]:
    """Return all extensions that a rule may use."""
    text, truth = cel.Type.STRING, cel.Type.BOOL
    functions = [
        _function("isIP", text, truth, _is_ip),
        _function("ip", text, _OPAQUE, lambda address: {"family": ipaddress.ip_address(address).version}),
        _function("family", _OPAQUE, cel.Type.INT, lambda address: address["family"], member=True),
        _function("isCIDR", text, truth, _is_cidr),
        _function("isURL", text, truth, _is_url),
        _function("url", text, _OPAQUE, lambda url: {"scheme": urlsplit(url).scheme}),
        _function("getScheme", _OPAQUE, text, lambda url: url["scheme"], member=True),
    ]
    return [
        ext_strings.ExtStrings(),
        ext_optional.ExtOptional(),
        ext_math.ExtMath(),
        ext_bindings.ExtBindings(),
        cel.CelExtension("kubernetes", functions),
    ]
