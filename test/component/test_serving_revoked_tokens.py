"""How long a token is believed after its end, by the same server with shorter times, before a real kube-apiserver.

The times are no flags of the operator, so the server runs in the test's own process here, with the operator's rights.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import aiohttp
import pytest
import yaml
from aiohttp import web

from test import polling
from test.component import metrics_clients
from topology_controller.kube import client as clients
from topology_controller.kube import config
from topology_controller.serve import authn
from topology_controller.serve import server as servers
from topology_simulator import client as administrators
from topology_simulator import serving

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real

_BELIEVED = 2.0
# kube-apiserver itself remembers a token for ten seconds.
_SECONDS = 40.0


async def said(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")


@contextlib.asynccontextmanager
async def served(session: real.Session, folder: pathlib.Path) -> AsyncIterator[tuple[str, serving.Serving]]:
    """Serve with short times; return where, and the certificates."""
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(session.server.kubeconfig("operator-a")))
    given = serving.Serving(folder / "tls", session.server.client_authority)
    believed = authn.Timing(known=_BELIEVED, unknown=0.5, yes=_BELIEVED, no=0.5)
    configuration = await config.load(str(file), None)
    async with clients.Client(configuration, user_agent="test", field_manager="test") as client:
        made = servers.Security(client, given.certificates, reviewing=believed)
        routes = [web.get(path, said) for path in ("/metrics",)]
        async with servers.Server(servers.Address("127.0.0.1", 0), routes, made) as server:
            yield f"https://127.0.0.1:{server.bound}", given


@pytest.fixture
async def api(real_server: real.Session) -> AsyncIterator[administrators.Client]:
    async with administrators.Client(real_server.access(), "administrator") as made:
        yield made


async def test_a_token_that_was_revoked_is_refused(
    real_server: real.Session, api: administrators.Client, tmp_path: pathlib.Path
) -> None:
    known = metrics_clients.MetricsClients(api)
    async with (
        served(real_server, tmp_path) as (url, given),
        known.account("leaving", metrics_clients.METRICS_ROLE),
        known.secret("leaving") as secret,
        aiohttp.ClientSession(url) as client,
    ):
        token = await known.token("leaving", bound_to=secret)
        tls = metrics_clients.trusting(given)

        headers = {"Authorization": f"Bearer {token}"}

        async def code() -> int:
            async with client.get("/metrics", headers=headers, ssl=tls) as answer:
                return answer.status

        assert await code() == 200
        await known.forget(metrics_clients.SECRETS, "leaving", metrics_clients.NAMESPACE)

        async def refused() -> bool:
            return await code() == 401

        await polling.until("the token is refused", refused, _SECONDS)


async def test_a_right_that_was_taken_away_is_refused_after_a_while(
    real_server: real.Session, api: administrators.Client, tmp_path: pathlib.Path
) -> None:
    known = metrics_clients.MetricsClients(api)
    async with (
        served(real_server, tmp_path) as (url, given),
        known.account("demoted") as token,
        aiohttp.ClientSession(url) as client,
    ):
        headers = {"Authorization": f"Bearer {token}"}

        async def code() -> int:
            async with client.get("/metrics", headers=headers, ssl=metrics_clients.trusting(given)) as answer:
                return answer.status

        async def is_so(wanted: int) -> bool:
            return await code() == wanted

        assert await code() == 403
        async with known.bound("demoted", metrics_clients.METRICS_ROLE):
            await polling.until("it is let in", lambda: is_so(200), _SECONDS)
        await polling.until("it is refused", lambda: is_so(403), _SECONDS)
