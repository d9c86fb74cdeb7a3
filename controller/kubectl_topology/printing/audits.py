"""`audit`: the shape of a cluster, and what does not fit together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..document import Row
from . import sections

if TYPE_CHECKING:
    from .. import answers
    from ..document import Document


def audit(document: Document, answer: answers.Audit) -> None:
    """`audit`: the shape, what it is derived from, then what does not fit."""
    vector, disagreements = answer["vector"], answer["disagreements"]
    sure = all(value is not None for name, value in vector.items() if name != "fencing")
    shape = f"{answer['shape']}{'' if sure else ', as far as is known'}"
    several = f"cannot tell: {' or '.join(answer['candidates'])}"
    sections.fields(
        document,
        [
            *sections.place(answer["cluster"]),
            ("Phase", answer["phase"] or ""),
            ("Shape", shape if answer["shape"] is not None else several),
        ],
    )
    document.add("Evidence", [(name, _known(value)) for name, value in vector.items()])
    if disagreements:
        rows: list[Row | tuple[str, str] | str] = []
        if answer["phase"] == "Converging":
            rows.append("The topology has just changed, and the cluster follows: some of this resolves by itself.")
        for item in disagreements:
            *first, last = item["between"]
            rows.append((item["question"], f"Between {', '.join(first)} and {last}" if first else f"Between {last}"))
            parts = (("Found", item["found"]), ("Wanted", item["wanted"]), ("Means", item["meaning"]))
            rows += [Row(part, indent=4) for part in parts]
        document.add("Inconsistencies", rows)
    else:
        known = "Status, scheduler and nodes do not disagree" + ("." if sure else ", as far as they are known.")
        unknown = "Cannot tell whether status, scheduler and nodes disagree: they could not be read."
        document.add("", [unknown if answer["verdict"] == "CannotTell" else known])
    unfenced = any("fencing" in item["missing"] for item in answer["open"])
    secrets = "Secrets are not read: those named fencing-credentials-* in namespace openshift-etcd would show it."
    questions = [(item["question"], f"Not known: {', '.join(item['missing'])}") for item in answer["open"]]
    document.add("Not determined", [*questions, secrets] if unfenced else questions)
    sections.advised(document, answer.get("advisories", []))
    sections.following(document, answer.get("next", []))
    sections.unread(document, answer["unread"])


def _known(value: object) -> str:
    if value is None:
        return "not known"
    return str(value).lower() if isinstance(value, bool) else str(value)
