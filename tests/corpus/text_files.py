"""Text files that no command can use, byte by byte."""

import os

import pytest

from tests.corpus.case import SAME, Collection, Outcome, refused
from tests.corpus.sound_files import HEADER, clean_rows, joined, with_field, write

BAD_TEXT = Collection()
#: Files of which commands leave out a column, and the words for it.
LEFT_OUT = Collection()
#: One entry that is no number, named with its place.
WORD = refused("'dose'", "text, not numbers", "in row 7")
WRITTEN = refused("'dose'", "--read decimal=.")


@BAD_TEXT.add(refused("There is no file"))
def missing_file(folder):
    return folder / "data.csv"


@BAD_TEXT.add(refused("is a folder"))
def a_folder(folder):
    (folder / "data.csv").mkdir()
    return folder / "data.csv"


@BAD_TEXT.add(refused("suffix '.dat'"))
def unknown_suffix(folder):
    return write(folder, joined(clean_rows()), "data.dat")


@BAD_TEXT.add(refused("no suffix"))
def no_suffix(folder):
    return write(folder, joined(clean_rows()), "data")


@BAD_TEXT.add(refused("is empty"))
def empty_file(folder):
    return write(folder, b"")


@BAD_TEXT.add(refused("is empty"))
def only_a_byte_order_mark(folder):
    return write(folder, b"\xef\xbb\xbf")


@BAD_TEXT.add(refused("blank lines only"))
def only_blank_lines(folder):
    return write(folder, "\n \n\t\n")


@BAD_TEXT.add(refused("no rows"))
def only_a_header(folder):
    return write(folder, joined([HEADER]))


@BAD_TEXT.add(refused("holds numbers, not column names"))
def no_header(folder):
    return write(folder, joined([row[:4] for row in clean_rows()[1:]]))


@BAD_TEXT.add(refused("Line 8", "4 fields"))
def a_row_too_short(folder):
    rows = clean_rows()
    rows[7] = rows[7][:-1]
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("Line 8", "6 fields"))
def a_row_too_long(folder):
    rows = clean_rows()
    rows[7] = [*rows[7], "1"]
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("Line 2", "6 fields"))
def delimiters_at_the_end_of_rows(folder):
    rows = clean_rows()
    return write(folder, joined([rows[0], *([*row, ""] for row in rows[1:])]))


@BAD_TEXT.add(refused("'age'", "more than one"))
def a_name_twice(folder):
    rows = clean_rows()
    rows[0] = ["age", "age", *HEADER[2:]]
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("'age'", "more than one"))
def a_name_twice_but_for_blanks(folder):
    rows = clean_rows()
    rows[0] = ["age", " age ", *HEADER[2:]]
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("quotation mark"))
def a_quotation_mark_never_closed(folder):
    return write(folder, with_field('"1.5'))


@BAD_TEXT.add(WORD)
def nul_bytes(folder):
    return write(folder, with_field("1.\x005"))


@BAD_TEXT.add(refused("Line 8"))
def a_field_of_a_megabyte(folder):
    return write(folder, with_field("x" * 10**6))


@BAD_TEXT.add(WORD)
def a_word_among_numbers(folder):
    return write(folder, with_field("n.a."))


@BAD_TEXT.add(WORD)
def a_question_mark_for_a_missing_value(folder):
    return write(folder, with_field("?"))


@BAD_TEXT.add(WORD)
def a_dash_for_a_missing_value(folder):
    return write(folder, with_field("-"))


@BAD_TEXT.add(WRITTEN)
def a_percent_sign(folder):
    return write(folder, with_field("12%"))


@BAD_TEXT.add(WRITTEN)
def a_thousands_separator(folder):
    return write(folder, with_field('"1,234.5"'))


@BAD_TEXT.add(WORD)
def a_unit(folder):
    return write(folder, with_field("3.5 mg"))


@BAD_TEXT.add(WORD)
def a_date(folder):
    return write(folder, with_field("2020-01-31"))


@BAD_TEXT.add(WORD)
def a_blank_for_a_missing_value(folder):
    return write(folder, with_field('" "'))


@BAD_TEXT.add(refused("'dose'", "missing"))
def na_for_a_missing_value(folder):
    return write(folder, with_field("NA"))


@BAD_TEXT.add(refused("'dose'", "missing"))
def nothing_for_a_missing_value(folder):
    return write(folder, with_field(""))


@LEFT_OUT.add(Outcome("left out", ("'dose' has at most one value",)))
def a_column_with_one_value(folder):
    rows = clean_rows()
    for row in rows[2:]:
        row[1] = ""
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("'gene3'", "missing"))
def a_column_of_text_beside_a_missing_value(folder):
    rows = clean_rows()
    for k, row in enumerate(rows[1:]):
        row[1] = f"about {k}"
    rows[3][2] = ""
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("'dose'", "infinite"))
def an_infinite_value(folder):
    return write(folder, with_field("-inf"))


@BAD_TEXT.add(refused("'dose'", "infinite"))
def a_number_beyond_floats(folder):
    return write(folder, with_field("1e999"))


@BAD_TEXT.add(refused("'dose'", "squares overflow"))
def a_number_beyond_squares(folder):
    return write(folder, with_field("1e300"))


@LEFT_OUT.add(Outcome("left out", ("'dose' has one value in every row",)))
def a_constant_column(folder):
    rows = clean_rows()
    for row in rows[1:]:
        row[1] = "3"
    return write(folder, joined(rows))


@BAD_TEXT.add(
    refused("1 sample"), compare=refused("label 'after'"), classify=refused("label 'after'")
)
def one_row_of_many_columns(folder):
    n_columns = 1000
    header = [*HEADER, *(f"c{k}" for k in range(n_columns))]
    return write(folder, joined([header, [*clean_rows()[1], *map(str, range(n_columns))]]))


@BAD_TEXT.add(refused("column"))
def only_row_labels(folder):
    return write(folder, joined([["id"], *([f"patient {k}"] for k in range(40))]))


@BAD_TEXT.add(refused("'dose'", "2**53"))
def whole_numbers_that_floats_cannot_tell_apart(folder):
    rows = clean_rows()
    for k, row in enumerate(rows[1:]):
        row[1] = str(2**60 + k)
    return write(folder, joined(rows))


@LEFT_OUT.add(Outcome("left out", ("'dose' has one value",)))
def whole_numbers_beyond_64_bits(folder):
    rows = clean_rows()
    for k, row in enumerate(rows[1:]):
        row[1] = str(10**30 + k)
    return write(folder, joined(rows))


@BAD_TEXT.add(refused("label"), learn=SAME, direct=SAME, regress=SAME)
def a_label_missing(folder):
    return write(folder, with_field("", column=4))


@BAD_TEXT.add(refused("label 'after'"), learn=SAME, direct=SAME, regress=SAME)
def one_label(folder):
    return write(folder, joined(clean_rows()).replace("before", "after"))


@BAD_TEXT.add(refused("is empty"))
def a_pipe(folder):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes have names on this system")
    os.mkfifo(folder / "data.csv")
    return folder / "data.csv"
