"""TLS as a cluster has it.

An authority of its own, client certificates, and certificates that are replaced while we run.
"""

import contextlib
import ssl

import pytest

from topology_controller.kube import client as clients
from topology_controller.kube import errors, resource, slim_import
from topology_simulator.etcd import certificates

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")


class Authority:
    """Puts what it signs into a folder; a certificate of its serves and dials, at 127.0.0.1 and api.example."""

    def __init__(self, folder):
        self.folder = folder
        self._signer = certificates.Authority("test authority")
        folder.mkdir()
        (folder / "ca.crt").write_bytes(self._signer.certificate)

    def issue(self, name):
        pair = self._signer.member(name, ("127.0.0.1", "api.example"))
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        return certificate, key


def serving(authority, trusts=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("server"))
    if trusts is not None:
        context.load_verify_locations(trusts.folder / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture
async def reach(faulty, make_widget):
    """Serve with one TLS context, and open clients with a Configuration made of files."""

    async def behave(asked, reply):
        await reply.whole(200, make_widget("a", 1))

    faulty.behave = behave
    async with contextlib.AsyncExitStack() as stack:

        async def opened(**files):
            configuration = slim_import.library().client.Configuration()
            configuration.host, configuration.proxy = f"https://127.0.0.1:{faulty.port}", ""
            for name, value in files.items():
                setattr(configuration, name, str(value))
            made = clients.Client(configuration, user_agent="t", field_manager="t", request_timeout=3)
            return await stack.enter_async_context(made)

        yield opened


async def serve(faulty, context):
    await faulty.stop()
    faulty.tls = context
    await faulty.start()


async def test_one_handshake_serves_many_requests(faulty, reach, tmp_path):
    ours = Authority(tmp_path / "ours")
    await serve(faulty, serving(ours, trusts=ours))
    cert, key = ours.issue("me")
    client = await reach(ssl_ca_cert=tmp_path / "ours/ca.crt", cert_file=cert, key_file=key)
    for _ in range(10):
        await client.get(WIDGETS, "a")
    assert faulty.connections == 1


async def test_the_name_in_the_certificate_may_be_another_one(faulty, reach, tmp_path):
    ours = Authority(tmp_path / "ours")
    await serve(faulty, serving(ours))
    good = await reach(ssl_ca_cert=tmp_path / "ours/ca.crt", tls_server_name="api.example")
    await good.get(WIDGETS, "a")
    bad = await reach(ssl_ca_cert=tmp_path / "ours/ca.crt", tls_server_name="other.example")
    with pytest.raises(errors.Unreachable, match=r"other\.example"):
        await bad.get(WIDGETS, "a", timeout=0.3)


async def test_a_server_of_another_authority_is_refused_and_nothing_is_sent(faulty, reach, tmp_path):
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    await serve(faulty, serving(theirs))
    client = await reach(ssl_ca_cert=ours.folder / "ca.crt")
    with pytest.raises(errors.Unreachable, match="certificate verify failed") as caught:
        await client.merge_patch(WIDGETS, "a", {})
    assert not caught.value.outcome_unknown
    assert not faulty.asked


async def test_a_new_authority_is_found_when_the_old_one_does_not_do(faulty, reach, tmp_path):
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    bundle = tmp_path / "bundle"
    bundle.write_bytes((ours.folder / "ca.crt").read_bytes())
    await serve(faulty, serving(ours))
    client = await reach(ssl_ca_cert=bundle)
    await client.get(WIDGETS, "a")
    # The cluster's authority is replaced, and the kubelet writes the new bundle.
    await serve(faulty, serving(theirs))
    bundle.write_bytes((theirs.folder / "ca.crt").read_bytes())
    await client.merge_patch(WIDGETS, "a", {})
    assert faulty.asked[-1].method == "PATCH"
