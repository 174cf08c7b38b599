"""Files of other formats than text that no command can use."""

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.case import Collection, Outcome, refused
from tests.corpus.sound_files import HEADER, clean_frame, clean_rows, joined, parquet, write
from tests.corpus.subjects import measurements
from tests.corpus.text_files import LEFT_OUT

BAD_BINARY = Collection()


@BAD_BINARY.add(refused("gzip"))
def compressed_but_called_csv(folder):
    return write(folder, gzip.compress(joined(clean_rows()).encode()))


@BAD_BINARY.add(refused("suffix '.gz'"))
def compressed(folder):
    return write(folder, gzip.compress(joined(clean_rows()).encode()), "data.csv.gz")


@BAD_BINARY.add(refused("damaged"))
def text_called_parquet(folder):
    return write(folder, joined(clean_rows()), "data.parquet")


@BAD_BINARY.add(refused("damaged"))
def half_a_parquet_file(folder):
    whole = parquet(folder).read_bytes()
    return write(folder, whole[: len(whole) // 2], "data.parquet")


@BAD_BINARY.add(refused("no rows"))
def a_parquet_file_without_rows(folder):
    clean_frame()[:0].to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


@LEFT_OUT.add(Outcome("left out", ("'dose' holds another text in every row",)))
def lists_in_a_parquet_file(folder):
    frame = clean_frame()
    frame["dose"] = [[float(k), 2.0] for k in range(len(frame))]
    frame.to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


@BAD_BINARY.add(refused("more than one column called 'age'"))
def a_name_twice_in_a_parquet_file(folder):
    columns = [pa.array(column) for column in measurements().T]
    pq.write_table(pa.table(columns, names=["age", "age", "c", "d"]), folder / "data.parquet")
    return folder / "data.parquet"


@BAD_BINARY.add(refused("damaged"))
def text_called_npz(folder):
    return write(folder, joined(clean_rows()), "data.npz")


@BAD_BINARY.add(refused("damaged"))
def half_an_npz_file(folder):
    content = io.BytesIO()
    np.savez(content, X=measurements())
    return write(folder, content.getvalue()[:700], "data.npz")


@BAD_BINARY.add(refused("not an npz file"))
def npy_called_npz(folder):
    content = io.BytesIO()
    np.save(content, measurements())
    return write(folder, content.getvalue(), "data.npz")


@BAD_BINARY.add(refused("pickled objects", "never loaded"))
def pickled_objects(folder):
    np.savez(folder / "data.npz", X=measurements().astype(object), allow_pickle=True)
    return folder / "data.npz"


@BAD_BINARY.add(refused("no two-dimensional array"))
def an_npz_file_of_lists(folder):
    np.savez(folder / "data.npz", x=np.arange(3.0), y=np.zeros((2, 2, 2)))
    return folder / "data.npz"


@BAD_BINARY.add(refused("several tables"))
def an_npz_file_of_two_tables(folder):
    np.savez(folder / "data.npz", train=measurements(), test=measurements())
    return folder / "data.npz"


@BAD_BINARY.add(refused("no columns"))
def an_npz_file_without_columns(folder):
    np.savez(folder / "data.npz", X=np.zeros((40, 0)))
    return folder / "data.npz"


@BAD_BINARY.add(refused("4 columns", "shape (3,)"))
def an_npz_file_with_too_few_names(folder):
    np.savez(folder / "data.npz", X=measurements(), names=np.array(HEADER[:3]))
    return folder / "data.npz"


@BAD_BINARY.add(refused("npz"))
def a_zip_file_of_something_else(folder):
    with zipfile.ZipFile(folder / "data.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    return folder / "data.npz"


@BAD_BINARY.add(refused("spreadsheet"))
def a_spreadsheet_called_csv(folder):
    with zipfile.ZipFile(folder / "data.csv", "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"\xff" * 2000)
    return folder / "data.csv"


@BAD_BINARY.add(refused("parquet"))
def parquet_called_csv(folder):
    return parquet(folder).rename(folder / "data.csv")
