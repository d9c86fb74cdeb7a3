"""`python -m topology_image`: argument parsing and wiring only.

    check [--python P] [--twice]    perform the Dockerfile in build/image and hold it against docs/development/image.md
    sbom [--python P]               write build/image/sbom.cdx.json; performs the Dockerfile first where it has to
    licences                        print the table of docs/development/image.md
    audit [--advisories D]          the locked files against known vulnerabilities
    base                            write the digest that the base's tag has now into the Dockerfile

Exit codes: 0 done, 1 not as it has to be, or it cannot be done on this machine, 2 bad usage, 3 `audit` has no advisory
source at hand.
"""

import argparse
import pathlib
import sys
from collections.abc import Callable

# ruff: noqa: PLC0415 - each command needs libraries of its own


def _check(options: argparse.Namespace) -> int:
    from . import builder, check, sandbox

    try:
        return check.check(options.python, twice=options.twice)
    except (builder.DockerfileError, builder.BuildError, sandbox.SandboxError) as error:
        return _failed(error)


def _sbom(options: argparse.Namespace) -> int:
    from . import bom, builder, check, sandbox

    try:
        place, packages = check.listed(options.python)
    except (bom.BomError, builder.DockerfileError, builder.BuildError, sandbox.SandboxError) as error:
        return _failed(error)
    print(f"{place}: {packages} packages")
    return 0


def _licences(_: argparse.Namespace) -> int:
    from . import check, locks

    try:
        print(locks.table(locks.read(check.ROOT / "requirements.lock").values()), end="")
    except locks.UnknownLicenceError as error:
        return _failed(error)
    return 0


def _audit(options: argparse.Namespace) -> int:
    from . import check, locks

    try:
        return locks.audit([check.ROOT / name for name in locks.FILES], options.advisories)
    except locks.NoSourceError as error:
        _failed(error)
        return 3
    except locks.AuditError as error:
        return _failed(error)


def _base(_: argparse.Namespace) -> int:
    from . import builder, check

    try:
        print(builder.pin_base(check.ROOT / "Dockerfile"))
    except builder.BaseError as error:
        return _failed(error)
    return 0


def _failed(error: Exception) -> int:
    print(f"topology_image: {error}", file=sys.stderr)
    return 1


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="topology_image", description="the image, and what is in it")
    commands = parser.add_subparsers(dest="command", required=True)
    built = argparse.ArgumentParser(add_help=False)
    built.add_argument("--python", metavar="P", help="in place of the base image's; default: a python3.12")
    checking = commands.add_parser("check", parents=[built], help="perform the Dockerfile and look at the result")
    checking.add_argument("--twice", action="store_true", help="perform it once more: is it the same, byte by byte?")
    commands.add_parser("sbom", parents=[built], help="list what is in the layer, as CycloneDX")
    commands.add_parser("licences", help="print the table of licences")
    commands.add_parser("base", help="write the digest that the base's tag has now into the Dockerfile")
    auditing = commands.add_parser("audit", help="the locked files against known vulnerabilities")
    auditing.add_argument(
        "--advisories", type=pathlib.Path, metavar="D", help="records in the OSV format; default: ask osv.dev"
    )
    options = parser.parse_args(arguments)
    perform: dict[str, Callable[[argparse.Namespace], int]] = {
        "check": _check, "sbom": _sbom, "licences": _licences, "audit": _audit, "base": _base,
    }  # fmt: skip
    try:
        return perform[options.command](options)
    except OSError as error:
        return _failed(error)


if __name__ == "__main__":
    sys.exit(main())
