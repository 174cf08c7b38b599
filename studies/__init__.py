"""Experiments of papers run again, and what the defaults were chosen by: ``python -m studies``.

A study is a module anywhere below this folder that says ``STUDY = Study(name=...)``. Adding one is
adding that file; nothing lists it.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgewise import InputError

if TYPE_CHECKING:
    from studies.study import Study

HERE: Final = Path(__file__).parent
_STUDY: Final = re.compile(r'^STUDY = Study\(\s*name="([\w-]+)"', flags=re.MULTILINE)


@cache
def find_studies() -> dict[str, str]:
    """Map the name of each study to its module, without importing it.

    Examples
    --------
    >>> find_studies()["go-cart"]
    'studies.covariates'
    """
    found = {}
    for file in sorted(HERE.rglob("*.py")):
        if named := _STUDY.search(file.read_text(encoding="utf-8")):
            place = file.relative_to(HERE.parent).with_suffix("").parts
            found[named[1]] = ".".join(place[:-1] if place[-1] == "__init__" else place)
    return found


def load_study(name: str) -> Study:
    """Load a study by its name.

    Examples
    --------
    >>> load_study("locally-constant").title
    'Sparse and locally constant Gaussian graphical models'
    """
    found = find_studies()
    if name not in found:
        raise InputError(f"There is no study '{name}'. Choose from: {', '.join(found)}, all.")
    study: Study = importlib.import_module(found[name]).STUDY
    return study
