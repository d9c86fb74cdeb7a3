"""The CEL functions that Kubernetes adds to the language, for the runtime that `cel` uses.

Strings, math, optional values and bindings come with the runtime; regular expressions (`find`, `findAll`),
list helpers (`isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`), `sets`, and the IP, CIDR, URL and
quantity libraries are here. Values of the opaque types (an IP, a quantity) are maps inside, which rules
cannot tell. What is missing, the two-variable macros above all, is refused when a definition is created:
the compiler does not know it.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings  # type: ignore[import-untyped]  # as above

if TYPE_CHECKING:
    from collections.abc import Callable

_T = cel.Type
_LIST = cel.Type.List(cel.Type.DYN)
_STRINGS = cel.Type.List(cel.Type.STRING)
_MAP = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group(0) for match in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match.group(0) if match else ""


def _index(items: list[Any], wanted: Any) -> int:
    return items.index(wanted) if wanted in items else -1


def _last_index(items: list[Any], wanted: Any) -> int:
    return len(items) - 1 - items[::-1].index(wanted) if wanted in items else -1


def _ip(text: str) -> dict[str, Any]:
    return {"ip": str(ipaddress.ip_address(text)), "text": text}


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _parsed_ip(value: dict[str, Any]) -> Any:
    return ipaddress.ip_address(value["ip"])


def _cidr(text: str) -> dict[str, Any]:
    ipaddress.ip_network(text, strict=False)
    return {"cidr": text}


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _network(value: dict[str, Any]) -> Any:
    return ipaddress.ip_network(value["cidr"], strict=False)


def _contains_ip(value: dict[str, Any], other: Any) -> bool:
    text = other if isinstance(other, str) else other["ip"]
    return ipaddress.ip_address(text) in _network(value)


def _contains_cidr(value: dict[str, Any], other: Any) -> bool:
    text = other if isinstance(other, str) else other["cidr"]
    inner, outer = ipaddress.ip_network(text, strict=False), _network(value)
    return inner.version == outer.version and bool(inner.subnet_of(outer))


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or bool(parts.scheme)


def _url(text: str) -> dict[str, Any]:
    parts = urlsplit(text)
    return {
        "scheme": parts.scheme,
        "host": parts.netloc.rpartition("@")[2],
        "hostname": parts.hostname or "",
        "port": str(parts.port or ""),
        "path": parts.path,
        "query": parse_qs(parts.query, keep_blank_values=True),
    }


_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(1000),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("MGTPE", 2)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def _amount(text: str) -> Decimal:
    match = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)", text)
    if match is None or match[2] not in _SUFFIXES:
        raise ValueError(f"quantities must match the regular expression: {text}")
    return Decimal(match[1]) * _SUFFIXES[match[2]]


def _is_quantity(text: str) -> bool:
    try:
        _amount(text)
    except (ValueError, InvalidOperation):
        return False
    return True


def _quantity(text: str) -> dict[str, Any]:
    return {"quantity": str(_amount(text))}


def _compare(left: dict[str, Any], right: dict[str, Any]) -> int:
    one, two = Decimal(left["quantity"]), Decimal(right["quantity"])
    return (one > two) - (one < two)


class _Library:
    """Collects functions; every overload needs a name of its own."""

    def __init__(self) -> None:
        self._overloads: dict[str, list[cel.Overload]] = {}

    def add(
        self,
        name: str,
        parameters: list[cel.Type],
        result: cel.Type,
        body: Callable[..., Any],
        *,
        member: bool = True,
    ) -> None:
        """Declare one overload."""
        known = self._overloads.setdefault(name, [])
        label = f"kubernetes_{name.replace('.', '_')}_{len(known)}"
        known.append(cel.Overload(label, result, parameters, is_member=member, impl=body))

    def extension(self) -> cel.CelExtension:
        """Return everything as one extension."""
        declared = [cel.FunctionDecl(name, overloads) for name, overloads in self._overloads.items()]
        return cel.CelExtension("kubernetes", declared)


def _lists(library: _Library) -> None:
    library.add(
        "isSorted",
        [_LIST],
        _T.BOOL,
        lambda items: all(a <= b for a, b in itertools.pairwise(items)),
    )
    library.add("sum", [_LIST], _T.DYN, sum)
    library.add("min", [_LIST], _T.DYN, min)
    library.add("max", [_LIST], _T.DYN, max)
    library.add("indexOf", [_LIST, _T.DYN], _T.INT, _index)
    library.add("lastIndexOf", [_LIST, _T.DYN], _T.INT, _last_index)
    library.add("find", [_T.STRING, _T.STRING], _T.STRING, _find)
    library.add("findAll", [_T.STRING, _T.STRING], _STRINGS, _find_all)
    library.add("findAll", [_T.STRING, _T.STRING, _T.INT], _STRINGS, _find_all)
    two = [_LIST, _LIST]
    library.add("sets.contains", two, _T.BOOL, lambda a, b: all(one in a for one in b), member=False)
    library.add("sets.intersects", two, _T.BOOL, lambda a, b: any(one in a for one in b), member=False)
    library.add(
        "sets.equivalent",
        two,
        _T.BOOL,
        lambda a, b: all(one in a for one in b) and all(one in b for one in a),
        member=False,
    )


def _addresses(library: _Library) -> None:
    library.add("isIP", [_T.STRING], _T.BOOL, _is_ip, member=False)
    library.add("ip", [_T.STRING], _MAP, _ip, member=False)
    library.add("family", [_MAP], _T.INT, lambda value: _parsed_ip(value).version)
    for name, attribute in (
        ("isUnspecified", "is_unspecified"),
        ("isLoopback", "is_loopback"),
        ("isLinkLocalUnicast", "is_link_local"),
        ("isLinkLocalMulticast", "is_multicast"),
    ):
        library.add(
            name,
            [_MAP],
            _T.BOOL,
            lambda value, attribute=attribute: bool(getattr(_parsed_ip(value), attribute)),
        )
    library.add(
        "isGlobalUnicast",
        [_MAP],
        _T.BOOL,
        lambda value: (
            not (_parsed_ip(value).is_multicast or _parsed_ip(value).is_loopback or _parsed_ip(value).is_link_local)
        ),
    )
    library.add("isCIDR", [_T.STRING], _T.BOOL, _is_cidr, member=False)
    library.add("cidr", [_T.STRING], _MAP, _cidr, member=False)
    library.add("containsIP", [_MAP, _T.STRING], _T.BOOL, _contains_ip)
    library.add("containsIP", [_MAP, _MAP], _T.BOOL, _contains_ip)
    library.add("containsCIDR", [_MAP, _T.STRING], _T.BOOL, _contains_cidr)
    library.add("containsCIDR", [_MAP, _MAP], _T.BOOL, _contains_cidr)
    library.add("prefixLength", [_MAP], _T.INT, lambda value: _network(value).prefixlen)
    library.add("masked", [_MAP], _MAP, lambda value: {"cidr": str(_network(value))})


def _urls_and_quantities(library: _Library) -> None:
    library.add("isURL", [_T.STRING], _T.BOOL, _is_url, member=False)
    library.add("url", [_T.STRING], _MAP, _url, member=False)
    for name, part in (
        ("getScheme", "scheme"),
        ("getHost", "host"),
        ("getHostname", "hostname"),
        ("getPort", "port"),
        ("getEscapedPath", "path"),
    ):
        library.add(name, [_MAP], _T.STRING, lambda value, part=part: value[part])
    library.add("getQuery", [_MAP], _MAP, lambda value: value["query"])
    library.add("isQuantity", [_T.STRING], _T.BOOL, _is_quantity, member=False)
    library.add("quantity", [_T.STRING], _MAP, _quantity, member=False)
    library.add("compareTo", [_MAP, _MAP], _T.INT, _compare)
    library.add("isLessThan", [_MAP, _MAP], _T.BOOL, lambda a, b: _compare(a, b) < 0)
    library.add("isGreaterThan", [_MAP, _MAP], _T.BOOL, lambda a, b: _compare(a, b) > 0)
    library.add("sign", [_MAP], _T.INT, lambda value: _compare(value, {"quantity": "0"}))
    library.add("asApproximateFloat", [_MAP], _T.DOUBLE, lambda value: float(Decimal(value["quantity"])))
    library.add("asInteger", [_MAP], _T.INT, lambda value: int(Decimal(value["quantity"])))
    library.add("isInteger", [_MAP], _T.BOOL, lambda value: Decimal(value["quantity"]) % 1 == 0)


def extensions() -> list[cel.CelExtensionBase]:
    """Return all extensions that a rule may use."""
    library = _Library()
    _lists(library)
    _addresses(library)
    _urls_and_quantities(library)
    return [
        ext_strings.ExtStrings(),
        ext_optional.ExtOptional(),
        ext_math.ExtMath(),
        ext_bindings.ExtBindings(),
        library.extension(),
    ]
