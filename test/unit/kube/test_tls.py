"""TLS as a cluster has it.

An authority of its own, client certificates, and certificates that are replaced while we run.
"""

import asyncio
import base64
import json
import ssl

import pytest
from test.polling import PATIENCE

from topology_controller.kube import client as clients
from topology_controller.kube import config, errors, resource, transport
from topology_simulator.etcd import certificates

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")


class Authority:
    """An authority, and the TLS of a server with a certificate of its."""

    def __init__(self, folder):
        signer = certificates.Authority("test authority")
        place = certificates.write(folder, signer.certificate, signer.member("server"))
        self.certificate, self.tls = signer.certificate, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(place / certificates.CERTIFICATE_FILE, place / certificates.KEY_FILE)


@pytest.fixture
def minutes(monkeypatch):
    """Let a minute pass between two requests."""
    monkeypatch.setattr(transport, "_CERTIFICATE_PERIOD", 0.0)


@pytest.fixture
async def trusting(faulty, make_widget, tmp_path):
    """A client that trusts the bundle, which is that of the server for now; the server's authority, and another one."""
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    bundle = tmp_path / "bundle"
    bundle.write_bytes(ours.certificate)
    faulty.answer(200, make_widget("a", 1))
    await faulty.secure(ours.tls)
    configuration = config.library().client.Configuration()
    configuration.host, configuration.proxy = f"https://127.0.0.1:{faulty.port}", ""
    configuration.ssl_ca_cert = str(bundle)
    async with clients.Client(configuration, user_agent="t", field_manager="t", request_timeout=3 * PATIENCE) as made:
        yield made, bundle, ours, theirs


async def test_a_server_of_another_authority_is_refused_and_nothing_is_sent(faulty, trusting):
    client, _, _, theirs = trusting
    await faulty.secure(theirs.tls)
    with pytest.raises(errors.Unreachable, match="certificate verify failed") as caught:
        await client.merge_patch(WIDGETS, "a", {})
    assert not caught.value.outcome_unknown
    assert not faulty.asked


async def test_a_new_authority_is_found_when_the_old_one_does_not_do(faulty, trusting):
    client, bundle, _, theirs = trusting
    await client.get(WIDGETS, "a")
    # The cluster's authority is replaced, and the kubelet writes the new bundle.
    await faulty.secure(theirs.tls)
    bundle.write_bytes(theirs.certificate)
    await client.merge_patch(WIDGETS, "a", {})
    assert faulty.asked[-1].method == "PATCH"


async def test_an_authority_that_was_taken_out_of_the_bundle_is_not_trusted_any_more(minutes, faulty, trusting):
    """Its key may have been stolen, which is why it was taken out: no refusal comes before the next handshake."""
    client, bundle, _, theirs = trusting
    await client.get(WIDGETS, "a")
    bundle.write_bytes(theirs.certificate)
    with pytest.raises(errors.Unreachable, match="certificate verify failed"):
        await client.merge_patch(WIDGETS, "a", {})
    assert len(faulty.asked) == 1


async def test_a_watch_goes_on_while_the_authority_is_replaced_beneath_it(minutes, faulty, trusting, make_widget):
    client, bundle, ours, theirs = trusting
    changed = asyncio.Event()

    async def behave(asked, reply):
        if not asked.is_watch:
            await reply.whole(200, make_widget("a", 1))
            return
        await reply.begin()
        await reply.event("ADDED", make_widget("a", 7))
        await changed.wait()
        await reply.event("MODIFIED", make_widget("a", 8))
        await reply.end()

    faulty.behave = behave
    async with client.open_watch(resource.Selection(WIDGETS), "5", 30, 30) as lines:
        assert (await anext(lines))[0] == "ADDED"
        bundle.write_bytes(ours.certificate + theirs.certificate)
        for _ in range(3):
            await client.get(WIDGETS, "a")
        assert faulty.connections == 2, "the watch, and one for all the others since"
        changed.set()
        assert (await anext(lines))[0] == "MODIFIED"


def kubeconfig(authority, port, user="first", context="c"):
    data = base64.b64encode(authority.certificate).decode()
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data}
    return json.dumps({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in ("c", "other")],
        "clusters": [{"name": "c", "cluster": cluster}, {"name": "other", "cluster": {"server": "https://other"}}],
        "users": [{"name": "c", "user": {"token": user}}, {"name": "other", "user": {"token": "of-the-other"}}],
    })  # fmt: skip


@pytest.fixture
async def by_kubeconfig(faulty, make_widget, tmp_path):
    """A client with a kubeconfig that holds its authority itself."""

    ours = Authority(tmp_path / "ours")
    await faulty.secure(ours.tls)
    faulty.answer(200, make_widget("a", 1))
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig(ours, faulty.port))
    loaded = await config.load(path)
    loaded.proxy = ""
    async with clients.Client(loaded, user_agent="t", field_manager="t", request_timeout=3 * PATIENCE) as made:
        await made.get(WIDGETS, "a")
        yield made, path, ours


async def test_a_kubeconfig_that_holds_a_new_authority_is_read_again(faulty, by_kubeconfig, tmp_path):
    client, path, _ = by_kubeconfig
    theirs = Authority(tmp_path / "theirs")
    await faulty.secure(theirs.tls)
    path.write_text(kubeconfig(theirs, faulty.port, "second"))
    await client.merge_patch(WIDGETS, "a", {})
    assert faulty.asked[-1].headers["Authorization"] == "Bearer second"


async def test_another_current_context_is_no_new_cluster(faulty, minutes, by_kubeconfig):
    """Somebody works with the same file: nothing of another cluster is sent to this one."""
    client, path, ours = by_kubeconfig
    path.write_text(kubeconfig(ours, faulty.port, context="other"))
    await client.get(WIDGETS, "a")
    path.write_text(kubeconfig(ours, 1, "of-another-server"))
    await client.get(WIDGETS, "a")
    assert {asked.headers["Authorization"] for asked in faulty.asked} == {"Bearer first"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library: aiohttp says so of basic authentication
@pytest.mark.parametrize("known", [True, False], ids=["with its authority", "without"])
async def test_a_login_by_openid_connect_is_renewed_at_a_verified_server_only(known, faulty, tmp_path):
    ours = Authority(tmp_path / "ours")
    await faulty.secure(ours.tls)
    issuer = f"https://127.0.0.1:{faulty.port}"
    faulty.answer(200, {"token_endpoint": f"{issuer}/token", "id_token": "new", "refresh_token": "next"})
    login = {"client-id": "us", "client-secret": "s", "idp-issuer-url": issuer, "id-token": "e30.eyJleHAiOjF9.x"}
    login["refresh-token"] = "last"
    if known:
        login["idp-certificate-authority-data"] = base64.b64encode(ours.certificate).decode()
    path, user = tmp_path / "kubeconfig", {"auth-provider": {"name": "oidc", "config": login}}
    path.write_text(kubeconfig(ours, faulty.port).replace('{"token": "first"}', json.dumps(user)))
    if known:
        assert (await config.load(path)).api_key == {"BearerToken": "Bearer new"}
        assert "refresh-token: next" in path.read_text(), "the one before is good for nothing now"
    else:
        with pytest.raises(config.ConfigError, match="certificate verify failed"):
            await config.load(path)
    assert [asked.method for asked in faulty.asked] == (["GET", "POST"] if known else [])
