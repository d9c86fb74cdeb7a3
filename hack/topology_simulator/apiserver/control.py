"""The simulator's own paths, for a server in a process of its own: /simulator/faults and /simulator/requests.

    POST   /simulator/faults     a JSON list of faults (`faults.Fault`); all are added, or none with a 400
    GET    /simulator/faults     those in force, with how often each has hit
    DELETE /simulator/faults     takes all away
    POST   /simulator/compact    forgets the log
    GET    /simulator/requests   the audit log, oldest first; `?since=UNIX_SECONDS` for the later part
    DELETE /simulator/requests   empties it

These requests are neither recorded nor hit by faults.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pydantic

from . import faults, handlers, statuses, storage

if TYPE_CHECKING:
    from . import audit, requests

PREFIX = "/simulator/"
_FAULTS = pydantic.TypeAdapter(list[faults.Fault])


class Control:
    """Answers the simulator's own paths."""

    def __init__(self, store: storage.Storage, fault_rules: faults.Faults, log: audit.Log) -> None:
        self._storage = store
        self._faults = fault_rules
        self._log = log

    def handle(self, request: requests.Request) -> handlers.Answer:
        """Return the answer. Raises StatusError."""
        match request.method, request.path.removeprefix(PREFIX):
            case "GET", "faults":
                return handlers.Answer(200, storage.encode([_shown(active) for active in self._faults.active()]))
            case "POST", "faults":
                return self._add(request.body)
            case "DELETE", "faults":
                self._faults.clear()
            case "POST", "compact":
                self._storage.compact()
            case "GET", "requests":
                since = request.number("since") or 0
                records = [dataclasses.asdict(record) for record in self._log if record.time >= since]
                return handlers.Answer(200, storage.encode(records))
            case "DELETE", "requests":
                self._log.clear()
            case _:
                return handlers.unknown_path()
        return handlers.Answer(200, b"{}")

    def _add(self, body: bytes) -> handlers.Answer:
        try:
            wanted = _FAULTS.validate_json(body)
        except pydantic.ValidationError as error:
            raise statuses.bad_request(str(error)) from None
        added = [_shown(self._faults.add(fault)) for fault in wanted]
        return handlers.Answer(200, storage.encode(added))


def _shown(active: faults.Active) -> dict[str, Any]:
    return {**active.fault.model_dump(by_alias=True, exclude_defaults=True), "hits": active.hits}
