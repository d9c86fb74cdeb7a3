"""Writes the files that are generated and committed, in whole or in part.

That is the CRD of Infrastructure, the roles that reading operands takes and their table in docs/development/rights.md
(`operand_rights`), the list of all manifests for kustomize (`kustomization`), what each name means (`explained`), the
tables of docs/api (`api_page`) and docs/runbooks (`runbooks`), the schemas of answers (`answer_schemas`), and the
dashboards (`observability.dashboards`).
The files of a fleet's engines (`topology_deploy.fleet`) are made for a fleet of the documented size, and so are the
health checks of docs/examples/gitops.
`make generate` runs it; `--check` only says whether the committed files are current (exit code 1 when one is not).
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import answer_schemas
import api_page
import explained
import kustomization
import operand_rights
import runbooks
from kubectl_topology.commands import explain
from observability import dashboards
from topology_controller.definitions import load
from topology_deploy import manifests
from topology_deploy.fleet import engines, plan

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_CRD = _ROOT / "bindata" / "crd" / "infrastructures.yaml"
_ROLES = _ROOT / "bindata" / "manifests" / operand_rights.FILE
_KUSTOMIZATION = _ROOT / "bindata" / "kustomization.yaml"
_PAGE = _ROOT / "docs" / "development" / "rights.md"
_DOCS = _ROOT / "docs"
_RUNBOOKS = _ROOT / "docs" / "runbooks"
_SCHEMAS = _ROOT / "docs" / "schemas"
_EXPLANATIONS = _ROOT / "bindata" / explain.FILE
_TRANSITIONS = _ROOT / "bindata" / "transitions"
_FLEET = _ROOT / "bindata" / "fleet"
_GITOPS = _ROOT / "docs" / "examples" / "gitops"
_FLUX = "  healthCheckExprs:\n"
_BEGIN = "<!-- made by `make generate` from the operand matrix -->\n"
_END = "<!-- until here -->\n"


def _texts() -> dict[pathlib.Path, str]:
    """Return every file as it has to be."""
    before, _, rest = _PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise SystemExit(f"{_PAGE} has lost the marks between which its table is put:\n{_BEGIN}{_END}")
    page = f"{before}{_BEGIN}\n{operand_rights.current_table()}\n{_END}{after}"
    transitions = load.load(_TRANSITIONS)
    return {
        _EXPLANATIONS: explained.text(transitions),
        **{_RUNBOOKS / f"{alert}.md": text for alert, text in runbooks.pages(transitions).items()},
        **{_SCHEMAS / name: text for name, text in answer_schemas.texts().items()},
        _CRD: manifests.whole_crd(),
        _ROLES: operand_rights.current_roles(),
        _KUSTOMIZATION: kustomization.text(),
        _PAGE: page,
        **api_page.pages(_TRANSITIONS, _DOCS),
        **dashboards.files(),
        **_fleet(transitions),
    }


def _fleet(transitions: load.Transitions) -> dict[pathlib.Path, str]:
    """Return the files of the engines of a fleet, and of the engines that apply what stands in Git."""
    wanted = plan.Wanted("HighlyAvailable", canaries=("edge-1", "edge-2", "edge-3"))
    defaults = plan.checked(wanted, transitions)
    files = {
        "survey.yaml": engines.survey(defaults),
        "work.yaml": engines.roll_out(defaults),
        "policy.yaml": engines.request(defaults),
        "cgu.yaml": engines.group_upgrade(defaults),
        "withdraw.yaml": engines.withdraw(defaults),
        "argocd-cm.yaml": engines.settings(),
    }
    flux = _GITOPS / "flux" / "topology.yaml"
    before, mark, _ = flux.read_text(encoding="utf-8").partition(_FLUX)
    if not mark:
        raise SystemExit(f"{flux} has lost the line {_FLUX.strip()}")
    return {
        **{_FLEET / name: text for name, text in files.items()},
        _GITOPS / "argocd" / "health.lua": engines.health(),
        flux: before + _FLUX + engines.flux_checks(),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated files of bindata/ and docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is not current")
    check: bool = parser.parse_args(arguments).check
    stale = 0
    for place, wanted in _texts().items():
        if place.exists() and place.read_text(encoding="utf-8") == wanted:
            continue
        stale += 1
        if check:
            print(f"{place} is not current: run make generate", file=sys.stderr)  # noqa: T201 - a command of the repository
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(wanted, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
