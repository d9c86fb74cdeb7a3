"""`python -m topology_image`: argument parsing and wiring only.

    check [--python P] [--twice]    perform the Dockerfile in build/image and hold it against docs/development/image.md
    sbom                            write build/image/sbom.cdx.json, of what `check` has left
    licences                        print the table of docs/development/image.md
    audit [--advisories D]          the locked files against known vulnerabilities
    base                            write the digest that the base's tag has now into the Dockerfile

Exit codes: 0 done, 1 not as it has to be, or it cannot be done on this machine, 2 bad usage, 3 `audit` has no advisory
source at hand.
"""

import argparse
import os
import pathlib
import sys

from . import ImageError

# ruff: noqa: PLC0415 - each command needs libraries of its own


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="topology_image", description="the image, and what is in it")
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="perform the Dockerfile and look at the result")
    checking.add_argument("--python", metavar="P", help="in place of the base image's; default: a python3.12")
    checking.add_argument("--twice", action="store_true", help="perform it once more: is it the same, byte by byte?")
    commands.add_parser("sbom", help="list what is in the layer, as CycloneDX")
    commands.add_parser("licences", help="print the table of licences")
    commands.add_parser("base", help="write the digest that the base's tag has now into the Dockerfile")
    auditing = commands.add_parser("audit", help="the locked files against known vulnerabilities")
    auditing.add_argument(
        "--advisories", type=pathlib.Path, metavar="D", help="records in the OSV format; default: ask osv.dev"
    )
    options = parser.parse_args(arguments)
    try:
        return _perform(options)
    except (ImageError, OSError) as error:
        print(f"topology_image: {error}", file=sys.stderr)
        return error.code if isinstance(error, ImageError) else 1


def _perform(options: argparse.Namespace) -> int:
    from . import builder, check, locks

    match options.command:
        case "check":
            return check.check(options.python, twice=options.twice)
        case "audit":
            return locks.audit([check.ROOT / name for name in locks.FILES], options.advisories)
        case "sbom":
            place, packages = check.listed()
            print(f"{place}: {packages} packages")
        case "licences":
            print(locks.table(locks.read(check.ROOT / "requirements.lock").values()), end="")
        case "base":
            print(builder.pin_base(check.ROOT / "Dockerfile"))
    return 0


if __name__ == "__main__":
    os.umask(0o022)  # the image is read by another user
    sys.exit(main())
