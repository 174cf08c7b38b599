"""What was done in a run, in words and facts, from its record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from edgewise.report.content import Report
from edgewise.report.references import BIBTEX, METHODS

#: What a record holds that is told in words or of no use to a reader.
TOLD = ("treatment", "warnings", "data", "versions", "parameters", "n_nodes", "n_edges")


def details(report: Report) -> dict[str, Any]:
    """Words, facts and references of one report, as plain values for the template."""
    record = report.record
    known = [METHODS[name] for name in report.methods if name in METHODS]
    keys = dict.fromkeys(key for method in known for key in method.keys)
    return {
        "done": _done(record),
        "warnings": [str(text) for text in record.get("warnings", ())],
        "facts": _facts(record),
        "paragraph": _paragraph(record, [method.sentence for method in known]),
        "bibtex": "\n\n".join(BIBTEX[key] for key in keys),
    }


def _done(record: Mapping[str, Any]) -> list[str]:
    """Tell data, treatment and certificate in sentences."""
    lines = []
    data = record.get("data", {})
    if "n_samples" in data:
        source = data.get("file") or data.get("bundled") or "the table"
        lines.append(f"{data['n_samples']} rows and {data['n_features']} columns of {source}.")
    lines += [f"{str(text)[:1].upper()}{str(text)[1:].rstrip('.')}." for text in _treatment(record)]
    lines += _certificate(record)
    return lines


def _treatment(record: Mapping[str, Any]) -> list[Any]:
    return list(record.get("treatment", ())) or ["the columns were used as they are"]


def _certificate(record: Mapping[str, Any]) -> list[str]:
    """Convergence in words."""
    if "converged" not in record:
        return []
    if not record["converged"]:
        return ["The fit stopped before it reached its tolerance: see the warnings."]
    if (gap := record.get("gap")) is not None:
        return [f"The fit converged: it is within {gap:.2g} of the optimum (duality gap)."]
    return ["The fit converged."]


def _facts(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything else that the record holds, one line each."""
    facts = [(name, _text(value)) for name, value in record.items() if name not in TOLD]
    for group in ("parameters", "versions"):
        facts += [
            (f"{group}: {name}", _text(value)) for name, value in record.get(group, {}).items()
        ]
    if "sha256" in record.get("data", {}):
        facts.append(("data: sha256", str(record["data"]["sha256"])))
    return facts


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _paragraph(record: Mapping[str, Any], sentences: list[str]) -> str:
    """Write a methods paragraph: the software, the method and what was chosen."""
    if not sentences:
        return ""
    version = record.get("versions", {}).get("edgewise", "")
    parts = [f"Networks were learned with edgewise {version}".rstrip() + ".", *sentences]
    if (alpha := record.get("alpha")) is not None:
        rule = record.get("alpha_rule")
        how = f", chosen by {rule}" if rule and rule != "given" else ""
        parts.append(f"The penalty was alpha = {alpha:.3g}{how}.")
    if "seed" in record:
        parts.append(f"The seed of random numbers was {record['seed']}.")
    return " ".join(parts)
