"""A table of a laboratory, as a German hospital exports it."""

import numpy as np
import pandas as pd

_RNG = np.random.default_rng(7)
_N = 30
_LATENT = _RNG.normal(size=_N)
_CRP = np.round(np.exp(1.5 * _LATENT), 1)
CLINIC = pd.DataFrame(
    {
        "Fall-Nr": [f"F{1000 + 7 * k}" for k in range(_N)],
        "Alter": _RNG.integers(20, 90, _N),
        "Geschlecht": _RNG.choice(["m", "w", "M", "W"], _N, p=[0.4, 0.4, 0.1, 0.1]),
        "Stadium": _RNG.permutation(np.repeat(["I", "II", "III", "IV"], [8, 8, 7, 7])),
        "CRP": [value if value > 0.5 else "<0,5" for value in _CRP],
        "Hb": np.round(13 - _LATENT + _RNG.normal(size=_N), 1),
        "Größe": np.round(1.7 + 0.1 * _RNG.normal(size=_N), 2),
        "Bemerkung": ["" if k % 9 else "s. Akte" for k in range(_N)],
    }
)
NAMES = tuple(CLINIC.columns)


def clinic_csv():
    """Names and rows, with semicolons and decimal commas."""
    rows = [NAMES, *CLINIC.itertuples(index=False)]
    return "".join(";".join(_text(cell) for cell in row) + "\n" for row in rows)


def _text(cell):
    return cell if isinstance(cell, str) else str(cell).replace(".", ",")


def clinic_sheet(file):
    """A cover sheet, and one with title, groups, units, merged cells, sums and a footnote."""
    blank = [None] * 9
    above = [
        ["Laborexport Klinik Bonn", *blank[1:]],
        ["Stand: 1. März", *blank[1:]],
        blank,
        ["Patient", None, None, None, "Labor", None, "Messung", None, None],
    ]
    units = [None, "Jahre", None, None, "mg/l", "g/dl", "m", None, None]
    rows = [
        # Some numbers were typed as text.
        [
            *row[:5],
            row[5] if k % 5 else _text(row[5]),
            *row[6:],
            "AB"[k // 15] if not k % 15 else "",
        ]
        for k, row in enumerate(CLINIC.itertuples(index=False))
    ]
    means = ["Mittelwert", 52.1, None, None, 3.1, 13.2, 1.71, None, None]
    cells = [*above, [*NAMES, "Station"], units, *rows, means, blank]
    cells += [["* nüchtern entnommen", *blank[1:]]]
    cover = pd.DataFrame([["Studie", "Labor 7"], ["Leitung", "Dr. B."], ["Export", "März"]])
    with pd.ExcelWriter(file) as writer:
        cover.to_excel(writer, sheet_name="Deckblatt", header=False, index=False)
        table = pd.DataFrame(cells).replace("", None)
        table.to_excel(writer, sheet_name="Werte", header=False, index=False)
        if file.suffix == ".xlsx":
            sheet = writer.sheets["Werte"]
            first = len(above) + 3
            for merged in ("A1:I1", "A4:D4", "E4:F4", f"I{first}:I{first + 14}"):
                sheet.merge_cells(merged)
            sheet.merge_cells(f"I{first + 15}:I{first + 29}")
