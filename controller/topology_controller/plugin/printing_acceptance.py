"""What `accept` tells a person before they consent: what was found, what they give up, and that it is final. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from topology_api.vocabulary import CheckName

if TYPE_CHECKING:
    from .commands import accept as accepting
    from .paper import Paper

_GIVEN_UP: Final = {
    CheckName.API_SERVER_REPLICAS: "the loss of a node may take projects, routes, builds and logins along, until it is "
    "back: openshift-apiserver or oauth-apiserver does not run on every control-plane node",
    CheckName.ROUTER_REPLICAS: "the loss of one node may take every route along, *.apps and the console among them, "
    "until the router has started elsewhere",
    CheckName.CONSOLE_REPLICAS: "the loss of one node may take the console along until it has started elsewhere",
    CheckName.OAUTH_REPLICAS: "the loss of one node may keep people from logging in until oauth-openshift has started "
    "elsewhere",
    CheckName.MONITORING_REPLICAS: "the loss of one node may take metrics and alerts along, also those about that very "
    "loss, and what was stored with them",
    CheckName.IMAGE_REGISTRY_REPLICAS: "the loss of one node may keep images of the internal registry from being "
    "pulled and pushed",
    CheckName.PACKAGE_SERVER_REPLICAS: "the loss of one node may keep operators from being found and installed",
    CheckName.MULTUS_ADMISSION_REPLICAS: "the loss of one node may keep pods and networks with additional interfaces "
    "from being created",
    CheckName.GUARD_POD_DISRUPTION_BUDGETS: "nothing keeps two control-plane nodes from being drained at once, which "
    "ends the quorum of etcd",
}
"""What the cluster does without, by the check that is accepted."""


_WHATEVER: Final = (
    "The transition is completed without it, once all the rest is met and quiet, and then minor upgrades go on.",
    "It is final for this attempt: recorded with your reason and the time, and shown wherever this transition is.",
    "Should it come after all, nothing is lost: whoever repairs it needs no leave.",
)


def offer(paper: Paper, found: accepting.Offer) -> None:
    """Explain what accepting means."""
    record, check = found.record, found.check
    paper.fields(
        [
            ("Check", f"{check.status.value}  {check.name}"),
            ("Found", check.message),
            ("Transition", f"{record.name} to {record.target}, attempt {found.attempt}"),
            ("Operator", found.operator),
        ]
    )
    paper.title(f"If you accept that {check.name} does not come")
    given_up = f"It is not repaired: {_GIVEN_UP[CheckName(check.name)]}."
    paper.table([("*", sentence) for sentence in (given_up, *_WHATEVER)])
    paper.gap()
