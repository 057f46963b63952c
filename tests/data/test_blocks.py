"""Blocks read the same rows from every kind of table, piece by piece."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from data.tables_on_disk import mixed_columns, write_parquet
from pyarrow import csv as arrow_csv

from counterpoise.data import BlockFailedError, Blocks, each_block, map_reduce, sample
from counterpoise.data.blocks import all_rows, keys_of_places
from counterpoise.data.table import Table
from counterpoise.errors import InvalidInputError, InvalidTypeError


def whole(blocks):
    """Return all rows, as text for tables, so that any two can be compared."""
    pieces = [blocks.read(i) for i in range(blocks.n_blocks)]
    if not isinstance(pieces[0], Table):
        return np.vstack(pieces)
    rows = []
    for piece in pieces:
        columns = []
        for column in piece.columns:
            if column.kind == "categories":
                named = np.array([*column.categories, None], dtype=object)
                columns.append(named[column.values])
            else:
                columns.append(
                    np.where(
                        np.isnan(column.values), None, column.values.astype(object)
                    )
                )
        rows.extend(zip(*columns, strict=True))
    return rows


def test_an_array_is_cut_into_blocks_of_so_many_rows():
    X = np.arange(22.0).reshape(11, 2)
    blocks = Blocks.from_arrays(X, rows=4)
    assert (blocks.n_blocks, blocks.n_rows) == (3, 11)
    np.testing.assert_array_equal(blocks.sizes, [4, 4, 3])
    np.testing.assert_array_equal(blocks.starts, [0, 4, 8])
    np.testing.assert_array_equal(whole(blocks), X)


def test_an_npy_file_is_mapped_where_it_is_read(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    blocks = Blocks.from_arrays(tmp_path / "rows.npy", rows=8)
    np.testing.assert_array_equal(whole(blocks), X.astype(float))
    assert "rows.npy, rows 48 to 49" in blocks.place(6)


def test_frames_parquet_csv_and_dask_hold_the_same_rows(tmp_path):
    from dask import dataframe as dd

    columns = mixed_columns(230)
    frame = columns.to_pandas()
    write_parquet(tmp_path / "rows.parquet", columns, rows=60)
    arrow_csv.write_csv(columns, tmp_path / "rows.csv")
    expected = whole(Blocks.from_arrays(frame, rows=1000))
    readings = {
        "pandas": Blocks.from_arrays(frame, rows=100),
        "polars": Blocks.from_arrays(pl.from_arrow(columns), rows=33),
        "parquet": Blocks.from_parquet(tmp_path / "rows.parquet"),
        "csv": Blocks.from_csv(tmp_path / "rows.csv", n_bytes=700),
        "dask": Blocks.from_dask(dd.from_pandas(frame, npartitions=3)),
        "batches": Blocks.from_batches(lambda i: frame.iloc[i * 46 : (i + 1) * 46], 5),
    }
    for kind, blocks in readings.items():
        assert blocks.n_blocks > 1, kind
        assert blocks.n_rows == 230, kind
        assert whole(blocks) == expected, kind


def test_a_dask_array_is_read_by_its_chunks():
    from dask import array as da

    X = np.random.default_rng(1).normal(size=(40, 6))
    blocks = Blocks.from_dask(da.from_array(X, chunks=(15, 2)))
    assert blocks.n_blocks == 3
    np.testing.assert_array_equal(whole(blocks), X)


def test_a_folder_and_a_pattern_are_read_in_the_order_of_names(tmp_path):
    parts = [mixed_columns(50, seed) for seed in range(3)]
    for k, part in enumerate(parts):
        write_parquet(tmp_path / f"live-{k}.parquet", part, rows=30)
    folder = Blocks.from_parquet(tmp_path, columns=["count"])
    pattern = Blocks.from_parquet(tmp_path / "live-*.parquet", columns=["count"])
    counts = np.concatenate([part["count"].to_numpy() for part in parts])
    np.testing.assert_array_equal([row[0] for row in whole(folder)], counts)
    assert whole(folder) == whole(pattern)
    assert folder.place(3).endswith("live-1.parquet, row group 1")


def test_a_piece_of_csv_never_ends_inside_quotes_or_at_an_empty_line(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(b'a,b\r\n1,"x\r\ny"\r\n\r\n2,"z ""q"""\r\n3,w')
    for n_bytes in range(1, 40):
        blocks = Blocks.from_csv(path, n_bytes=n_bytes)
        assert whole(blocks) == [(1.0, "x\r\ny"), (2.0, 'z "q"'), (3.0, "w")], n_bytes
        assert blocks.n_rows == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: Blocks.from_arrays(np.ones(3)), "rows and columns"),
        (lambda p: Blocks.from_arrays(np.array([["a"]])), "mixed columns"),
        (lambda p: Blocks.from_arrays(np.ones((2, 2)), rows=0), "rows must be"),
        (lambda p: Blocks.from_arrays("rows.csv"), "no .npy file"),
        (lambda p: Blocks.from_parquet(p / "none.parquet"), "does not exist"),
        (lambda p: Blocks.from_parquet(p / "no-*.parquet"), "no Parquet file"),
        (lambda p: Blocks.from_csv(p / "none.csv"), "does not exist"),
        (lambda p: Blocks.from_dask(np.ones((2, 2))), "Dask array or frame"),
        (lambda p: Blocks.from_batches(len, 0), "n_blocks"),
    ],
)
def test_what_cannot_be_cut_into_blocks_is_refused_by_name(make, words, tmp_path):
    with pytest.raises(InvalidInputError, match=words):
        make(tmp_path)


def test_a_file_with_other_columns_or_kinds_is_refused_by_name(tmp_path):
    columns = mixed_columns(20)
    write_parquet(tmp_path / "a.parquet", columns)
    write_parquet(tmp_path / "b.parquet", columns.drop_columns(["age"]))
    with pytest.raises(InvalidInputError, match=r"b\.parquet has no column 'age'"):
        Blocks.from_parquet(tmp_path)
    text = columns.set_column(0, "age", columns["color"])
    write_parquet(tmp_path / "b.parquet", text)
    with pytest.raises(InvalidInputError, match=r"'age' holds numbers in .*a\.parquet"):
        Blocks.from_parquet(tmp_path)
    with pytest.raises(InvalidInputError, match="no column 'height'"):
        Blocks.from_parquet(tmp_path / "a.parquet", columns=["height"])


def test_a_later_cell_that_is_no_number_is_named_by_file_and_rows(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("a\n" + "1\n" * 50 + "x\n")
    blocks = Blocks.from_csv(path, n_bytes=20)
    with pytest.raises(InvalidInputError, match=r"late\.csv, rows"):
        list(each_block(blocks, lambda rows, first: len(rows)))


def test_numbers_are_refused_by_block_and_column_where_they_are_none():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    blocks = Blocks.from_arrays(frame, rows=1).numbers()
    with pytest.raises(InvalidTypeError, match="column 'b' holds categories") as caught:
        map_reduce(blocks, lambda rows, first: rows.sum())
    assert "in block 0: the frame, rows 0 to 0" in caught.value.__notes__
    holed = Blocks.from_arrays(np.array([[1.0], [np.nan]]), rows=1).numbers()
    with pytest.raises(InvalidInputError, match="must be finite"):
        holed.read(1)


def test_a_corrupt_page_is_named_by_file_and_row_group(tmp_path):
    path = write_parquet(tmp_path / "rows.parquet", mixed_columns(400), rows=100)
    raw = bytearray(path.read_bytes())
    import pyarrow.parquet as pq

    group = pq.read_metadata(path).row_group(2)
    start = group.column(0).data_page_offset
    raw[start : start + 40] = b"\xff" * 40
    path.write_bytes(bytes(raw))
    blocks = Blocks.from_parquet(path)
    with pytest.raises(BlockFailedError, match=r"rows\.parquet, row group 2"):
        map_reduce(blocks, lambda rows, first: len(rows))


def test_rows_are_drawn_in_proportion_to_their_weights_however_they_are_cut():
    rows = np.arange(3000.0)[:, None]

    def predict_weights(part, first):
        return np.where(part[:, 0] < 1000, 0.0, np.where(part[:, 0] < 2000, 1.0, 9.0))

    one, other = (
        sample(
            Blocks.from_arrays(rows, rows=k),
            300,
            seed=3,
            predict_weights=predict_weights,
        )
        for k in (70, 1100)
    )
    np.testing.assert_array_equal(one.places, other.places)
    assert one.places.min() >= 1000
    heavy = (one.places >= 2000).mean()
    # 0.9 of the first draw, somewhat less as heavy rows are used up.
    assert 0.82 < heavy < 0.94


def test_weights_of_ones_draw_as_no_weights_do_by_other_keys():
    rows = np.arange(500.0)[:, None]
    blocks = Blocks.from_arrays(rows, rows=64)
    drawn = sample(
        blocks, 50, seed=1, predict_weights=lambda part, first: np.ones(len(part))
    )
    # -log(u) falls with u: the largest keys of the places are the smallest here.
    keys = keys_of_places(np.arange(500), 1)
    np.testing.assert_array_equal(drawn.places, np.sort(np.argsort(keys)[-50:]))


def test_all_rows_are_read_in_their_order():
    columns = mixed_columns(250)
    frame = columns.to_pandas()
    found = all_rows(Blocks.from_arrays(frame, rows=99))
    np.testing.assert_array_equal(found.columns[0].values, frame["age"])
    texts = np.array(found.columns[1].categories)[found.columns[1].values]
    assert texts.tolist() == frame["color"].tolist()
