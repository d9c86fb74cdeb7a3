"""The simulator's own paths, for a server in a process of its own: /simulator/faults and /simulator/requests.

    POST   /simulator/faults     a JSON list of faults (`faults.Fault`); all are added, or none with a 400; the `hits`
    POST   /simulator/compact    forgets the log
    GET    /simulator/requests   the audit log, oldest first; `?since=UNIX_SECONDS` for the later part

These requests are neither recorded nor hit by faults.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

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
            case "POST", "faults":
                return handlers.Answer(200, storage.encode([{"hits": hits} for hits in self._add(request.body)]))
            case "POST", "compact":
                self._storage.compact()
            case "GET", "requests":
                since = request.number("since") or 0
                records = [dataclasses.asdict(record) for record in self._log if record.time >= since]
                return handlers.Answer(200, storage.encode(records))
            case _:
                return handlers.unknown_path()
        return handlers.Answer(200, b"{}")

    def _add(self, body: bytes) -> list[int]:
        """Add faults; return how many watches each has hit now."""
        try:
            wanted = _FAULTS.validate_json(body)
        except pydantic.ValidationError as error:
            raise statuses.bad_request(str(error)) from None
        return [self._faults.add(fault).hits for fault in wanted]
