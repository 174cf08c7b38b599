"""Files for the commands, byte by byte: the clean table in other clothes, and what is no table."""

import gzip
import io
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.case import SAME, Collection, refused
from tests.corpus.roster import labels, measurements

#: Files that hold the clean table.
SOUND_FILES = Collection()
#: Files that no command can use.
BAD_FILES = Collection()
HEADER = ["age", "dose", "gene3", "gene7", "group"]
#: One entry that is no number, named with its place.
WORD = refused("'dose'", "text, not numbers", "in row 7")
TEXT = refused("'dose'", "text")


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


@BAD_FILES.add(refused("There is no file"))
def missing_file(folder):
    return folder / "data.csv"


@BAD_FILES.add(refused("is a folder"))
def a_folder(folder):
    (folder / "data.csv").mkdir()
    return folder / "data.csv"


@BAD_FILES.add(refused("suffix '.txt'"))
def unknown_suffix(folder):
    return write(folder, joined(clean_rows()), "data.txt")


@BAD_FILES.add(refused("no suffix"))
def no_suffix(folder):
    return write(folder, joined(clean_rows()), "data")


@BAD_FILES.add(refused("is empty"))
def empty_file(folder):
    return write(folder, b"")


@BAD_FILES.add(refused("is empty"))
def only_a_byte_order_mark(folder):
    return write(folder, b"\xef\xbb\xbf")


@BAD_FILES.add(refused("blank lines only"))
def only_blank_lines(folder):
    return write(folder, "\n \n\t\n")


@BAD_FILES.add(refused("no rows"))
def only_a_header(folder):
    return write(folder, joined([HEADER]))


@BAD_FILES.add(refused("holds numbers, not column names"))
def no_header(folder):
    return write(folder, joined([row[:4] for row in clean_rows()[1:]]))


@BAD_FILES.add(refused("Line 2", "5 fields", "header has 1"))
def a_comment_before_the_header(folder):
    return write(folder, "# exported on Monday\n" + joined(clean_rows()))


@BAD_FILES.add(refused("Line 8", "4 fields"))
def a_row_too_short(folder):
    rows = clean_rows()
    rows[7] = rows[7][:-1]
    return write(folder, joined(rows))


@BAD_FILES.add(refused("Line 8", "6 fields"))
def a_row_too_long(folder):
    rows = clean_rows()
    rows[7] = [*rows[7], "1"]
    return write(folder, joined(rows))


@BAD_FILES.add(refused("Line 2", "6 fields"))
def delimiters_at_the_end_of_rows(folder):
    rows = clean_rows()
    return write(folder, joined([rows[0], *([*row, ""] for row in rows[1:])]))


@BAD_FILES.add(refused("Column 6", "no name"))
def delimiters_at_the_end_of_all_lines(folder):
    return write(folder, joined([[*row, ""] for row in clean_rows()]))


@BAD_FILES.add(refused("'age'", "more than one"))
def a_name_twice(folder):
    rows = clean_rows()
    rows[0] = ["age", "age", *HEADER[2:]]
    return write(folder, joined(rows))


@BAD_FILES.add(refused("'age'", "more than one"))
def a_name_twice_but_for_blanks(folder):
    rows = clean_rows()
    rows[0] = ["age", " age ", *HEADER[2:]]
    return write(folder, joined(rows))


@BAD_FILES.add(refused("quotation mark"))
def a_quotation_mark_never_closed(folder):
    return write(folder, with_field('"1.5'))


@BAD_FILES.add(refused("UTF-8"))
def latin_letters_of_one_byte(folder):
    return write(folder, joined(clean_rows()).replace("age", "größe").encode("latin-1"))


@BAD_FILES.add(refused("UTF-8"))
def two_bytes_per_letter(folder):
    return write(folder, joined(clean_rows()).encode("utf-16"))


@BAD_FILES.add(refused("gzip"))
def compressed_but_called_csv(folder):
    return write(folder, gzip.compress(joined(clean_rows()).encode()))


@BAD_FILES.add(refused("suffix '.gz'"))
def compressed(folder):
    return write(folder, gzip.compress(joined(clean_rows()).encode()), "data.csv.gz")


@BAD_FILES.add(WORD)
def nul_bytes(folder):
    return write(folder, with_field("1.\x005"))


@BAD_FILES.add(refused("Line 8"))
def a_field_of_a_megabyte(folder):
    return write(folder, with_field("x" * 10**6))


@BAD_FILES.add(WORD)
def a_word_among_numbers(folder):
    return write(folder, with_field("n.a."))


@BAD_FILES.add(WORD)
def a_question_mark_for_a_missing_value(folder):
    return write(folder, with_field("?"))


@BAD_FILES.add(WORD)
def a_dash_for_a_missing_value(folder):
    return write(folder, with_field("-"))


@BAD_FILES.add(WORD)
def a_percent_sign(folder):
    return write(folder, with_field("12%"))


@BAD_FILES.add(WORD)
def a_thousands_separator(folder):
    return write(folder, with_field('"1,234.5"'))


@BAD_FILES.add(WORD)
def a_unit(folder):
    return write(folder, with_field("3.5 mg"))


@BAD_FILES.add(WORD)
def a_date(folder):
    return write(folder, with_field("2020-01-31"))


@BAD_FILES.add(WORD)
def a_blank_for_a_missing_value(folder):
    return write(folder, with_field('" "'))


@BAD_FILES.add(refused("'dose'", "missing"))
def na_for_a_missing_value(folder):
    return write(folder, with_field("NA"))


@BAD_FILES.add(refused("'dose'", "missing"))
def nothing_for_a_missing_value(folder):
    return write(folder, with_field(""))


@BAD_FILES.add(refused("'dose'", "infinite"))
def an_infinite_value(folder):
    return write(folder, with_field("-inf"))


@BAD_FILES.add(refused("'dose'", "infinite"))
def a_number_beyond_floats(folder):
    return write(folder, with_field("1e999"))


@BAD_FILES.add(refused("'dose'", "squares overflow"))
def a_number_beyond_squares(folder):
    return write(folder, with_field("1e300"))


@BAD_FILES.add(refused("'dose'", "one value"))
def a_constant_column(folder):
    rows = clean_rows()
    for row in rows[1:]:
        row[1] = "3"
    return write(folder, joined(rows))


@BAD_FILES.add(
    refused("1 sample"), compare=refused("label 'after'"), classify=refused("label 'after'")
)
def one_row_of_many_columns(folder):
    n_columns = 1000
    header = [*HEADER, *(f"c{k}" for k in range(n_columns))]
    return write(folder, joined([header, [*clean_rows()[1], *map(str, range(n_columns))]]))


@BAD_FILES.add(refused("column"))
def only_row_labels(folder):
    return write(folder, joined([["id"], *([f"patient {k}"] for k in range(40))]))


@BAD_FILES.add(refused("damaged"))
def text_called_parquet(folder):
    return write(folder, joined(clean_rows()), "data.parquet")


@BAD_FILES.add(refused("damaged"))
def half_a_parquet_file(folder):
    whole = parquet(folder).read_bytes()
    return write(folder, whole[: len(whole) // 2], "data.parquet")


@BAD_FILES.add(refused("no rows"))
def a_parquet_file_without_rows(folder):
    clean_frame()[:0].to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


@BAD_FILES.add(TEXT)
def lists_in_a_parquet_file(folder):
    frame = clean_frame()
    frame["dose"] = [[1.0, 2.0]] * len(frame)
    frame.to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


@BAD_FILES.add(refused("more than one column called 'age'"))
def a_name_twice_in_a_parquet_file(folder):
    columns = [pa.array(column) for column in measurements().T]
    pq.write_table(pa.table(columns, names=["age", "age", "c", "d"]), folder / "data.parquet")
    return folder / "data.parquet"


@BAD_FILES.add(refused("damaged"))
def text_called_npz(folder):
    return write(folder, joined(clean_rows()), "data.npz")


@BAD_FILES.add(refused("damaged"))
def half_an_npz_file(folder):
    content = io.BytesIO()
    np.savez(content, X=measurements())
    return write(folder, content.getvalue()[:700], "data.npz")


@BAD_FILES.add(refused("not an npz file"))
def npy_called_npz(folder):
    content = io.BytesIO()
    np.save(content, measurements())
    return write(folder, content.getvalue(), "data.npz")


@BAD_FILES.add(refused("pickled objects", "never loaded"))
def pickled_objects(folder):
    np.savez(folder / "data.npz", X=measurements().astype(object), allow_pickle=True)
    return folder / "data.npz"


@BAD_FILES.add(refused("no two-dimensional array"))
def an_npz_file_of_lists(folder):
    np.savez(folder / "data.npz", x=np.arange(3.0), y=np.zeros((2, 2, 2)))
    return folder / "data.npz"


@BAD_FILES.add(refused("several tables"))
def an_npz_file_of_two_tables(folder):
    np.savez(folder / "data.npz", train=measurements(), test=measurements())
    return folder / "data.npz"


@BAD_FILES.add(refused("no columns"))
def an_npz_file_without_columns(folder):
    np.savez(folder / "data.npz", X=np.zeros((40, 0)))
    return folder / "data.npz"


@BAD_FILES.add(refused("4 columns", "shape (3,)"))
def an_npz_file_with_too_few_names(folder):
    np.savez(folder / "data.npz", X=measurements(), names=np.array(HEADER[:3]))
    return folder / "data.npz"


@BAD_FILES.add(refused("npz"))
def a_zip_file_of_something_else(folder):
    with zipfile.ZipFile(folder / "data.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    return folder / "data.npz"


@BAD_FILES.add(refused("'dose'", "2**53"))
def whole_numbers_that_floats_cannot_tell_apart(folder):
    rows = clean_rows()
    for k, row in enumerate(rows[1:]):
        row[1] = str(2**60 + k)
    return write(folder, joined(rows))


@BAD_FILES.add(refused("'dose'"))
def whole_numbers_beyond_64_bits(folder):
    rows = clean_rows()
    for k, row in enumerate(rows[1:]):
        row[1] = str(10**30 + k)
    return write(folder, joined(rows))


@BAD_FILES.add(refused("spreadsheet"))
def a_spreadsheet_called_csv(folder):
    with zipfile.ZipFile(folder / "data.csv", "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"\xff" * 2000)
    return folder / "data.csv"


@BAD_FILES.add(refused("parquet"))
def parquet_called_csv(folder):
    return parquet(folder).rename(folder / "data.csv")


@BAD_FILES.add(refused("label"), learn=SAME, direct=SAME, regress=SAME)
def a_label_missing(folder):
    return write(folder, with_field("", column=4))


@BAD_FILES.add(refused("label 'after'"), learn=SAME, direct=SAME, regress=SAME)
def one_label(folder):
    return write(folder, joined(clean_rows()).replace("before", "after"))


@BAD_FILES.add(refused("'Before'"), learn=SAME, direct=SAME, regress=SAME)
def a_label_mistyped_once(folder):
    return write(folder, with_field("Before", column=4))


@BAD_FILES.add(refused("is empty"))
def a_pipe(folder):
    os.mkfifo(folder / "data.csv")
    return folder / "data.csv"
