"""Files that hold the clean table in other clothes: all commands must learn the same from them."""

import pandas as pd

from tests.corpus.case import SAME, Collection
from tests.corpus.subjects import labels, measurements

SOUND_FILES = Collection()
HEADER = ["age", "dose", "gene3", "gene7", "group"]


def clean_frame():
    return pd.DataFrame(measurements(), columns=HEADER[:4]).assign(group=labels(measurements()))


def clean_rows():
    """The clean table as text, the header first."""
    return [HEADER, *clean_frame().astype(str).to_numpy().tolist()]


def write(folder, content, name="data.csv"):
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def joined(rows, delimiter=",", end="\n"):
    return end.join(delimiter.join(row) for row in rows) + end


def with_field(field, row=7, column=1):
    """The clean table as text with another field in one place."""
    rows = clean_rows()
    rows[row][column] = field
    return joined(rows)


@SOUND_FILES.add(SAME)
def plain(folder):
    return write(folder, joined(clean_rows()))


@SOUND_FILES.add(SAME)
def byte_order_mark(folder):
    return write(folder, b"\xef\xbb\xbf" + joined(clean_rows()).encode())


@SOUND_FILES.add(SAME)
def lines_as_on_windows(folder):
    return write(folder, joined(clean_rows(), end="\r\n"))


@SOUND_FILES.add(SAME)
def no_end_of_the_last_line(folder):
    return write(folder, joined(clean_rows()).rstrip("\n"))


@SOUND_FILES.add(SAME)
def blank_lines(folder):
    return write(folder, "\n\n" + joined(clean_rows(), end="\n\n") + "\n\n")


@SOUND_FILES.add(SAME)
def everything_quoted(folder):
    return write(folder, joined([[f'"{field}"' for field in row] for row in clean_rows()]))


@SOUND_FILES.add(SAME)
def blanks_around_numbers_and_names(folder):
    rows = [[f"  {field} " for field in row[:4]] + row[4:] for row in clean_rows()]
    return write(folder, joined(rows))


@SOUND_FILES.add(SAME)
def tabs(folder):
    return write(folder, joined(clean_rows(), "\t"), "data.tsv")


@SOUND_FILES.add(SAME)
def tabs_in_a_file_called_csv(folder):
    return write(folder, joined(clean_rows(), "\t"))


@SOUND_FILES.add(SAME)
def semicolons(folder):
    return write(folder, joined(clean_rows(), ";"))


@SOUND_FILES.add(SAME)
def semicolons_and_decimal_commas(folder):
    rows = [[field.replace(".", ",") for field in row] for row in clean_rows()]
    return write(folder, joined(rows, ";"))


@SOUND_FILES.add(SAME)
def a_comment_before_the_header(folder):
    return write(folder, "# exported on Monday\n" + joined(clean_rows()))


@SOUND_FILES.add(SAME)
def delimiters_at_the_end_of_all_lines(folder):
    return write(folder, joined([[*row, ""] for row in clean_rows()]))


@SOUND_FILES.add(SAME)
def two_bytes_per_letter(folder):
    return write(folder, joined(clean_rows()).encode("utf-16"))


@SOUND_FILES.add(SAME)
def latin_letters_of_one_byte(folder):
    return write(folder, (joined(clean_rows()) + "# größe ist Größe in cm\n").encode("latin-1"))


@SOUND_FILES.add(SAME)
def exponents_and_signs(folder):
    numbers = [[f"{float(x):+.16e}" for x in row[:4]] + row[4:] for row in clean_rows()[1:]]
    return write(folder, joined([HEADER, *numbers]))


@SOUND_FILES.add(SAME)
def suffix_in_capitals(folder):
    return write(folder, joined(clean_rows()), "DATA.CSV")


@SOUND_FILES.add(SAME)
def name_with_blanks_and_accents(folder):
    return write(folder, joined(clean_rows()), "große Tabelle, neu.csv")


@SOUND_FILES.add(SAME)
def row_labels_without_a_name(folder):
    rows = clean_rows()
    return write(folder, joined([["", *rows[0]], *([f"r{k}", *r] for k, r in enumerate(rows[1:]))]))


@SOUND_FILES.add(SAME)
def parquet(folder):
    clean_frame().to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


@SOUND_FILES.add(SAME)
def parquet_with_nullable_types(folder):
    frame = clean_frame().convert_dtypes().astype({"group": "category"})
    frame.to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


@SOUND_FILES.add(SAME)
def parquet_with_row_labels(folder):
    frame = clean_frame().set_axis([f"row {k}" for k in range(40)], axis=0)
    frame.to_parquet(folder / "data.parquet")
    return folder / "data.parquet"
