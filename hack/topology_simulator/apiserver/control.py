"""The simulator's own paths, for a server in a process of its own: /simulator/faults and /simulator/requests.

    POST   /simulator/faults     a JSON list of faults (`faults.from_json`); all are added, or none with a 400
    GET    /simulator/faults     those in force, with how often each has hit
    DELETE /simulator/faults     takes all away
    POST   /simulator/compact    forgets the log
    GET    /simulator/requests   the audit log, oldest first; `?since=UNIX_SECONDS` for the later part
    DELETE /simulator/requests   empties it

These requests are neither recorded nor hit by faults.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from . import faults, handlers, statuses, storage

if TYPE_CHECKING:
    from . import audit, requests

PREFIX = "/simulator/"


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
                found = [{**faults.to_json(one.fault), "hits": one.hits} for one in self._faults.active()]
                return handlers.Answer(200, storage.encode(found))
            case "POST", "faults":
                return self._add(request.body)
            case "DELETE", "faults":
                self._faults.clear()
            case "POST", "compact":
                self._storage.compact()
            case "GET", "requests":
                since = request.number("since") or 0
                records = [one.as_dict() for one in self._log if one.time >= since]
                return handlers.Answer(200, storage.encode(records))
            case "DELETE", "requests":
                self._log.clear()
            case _:
                return handlers.unknown_path()
        return handlers.Answer(200, b"{}")

    def _add(self, body: bytes) -> handlers.Answer:
        try:
            value = json.loads(body)
            wanted = [faults.from_json(one) for one in (value if isinstance(value, list) else [value])]
        except ValueError as error:
            raise statuses.bad_request(str(error)) from None
        added = [{**faults.to_json(one), "hits": self._faults.add(one).hits} for one in wanted]
        return handlers.Answer(200, storage.encode(added))
