"""Tables of every kind on disk, small, made on the spot."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def mixed_columns(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    age[rng.random(n) < 0.1] = np.nan
    color = rng.choice(["red", "blue", 'gr"e,en', "two\nlines"], n)
    return pa.table(
        {
            "age": pa.array(age, from_pandas=True),
            "color": pa.array(color),
            "count": pa.array(rng.integers(0, 9, n)),
        }
    )


def write_parquet(path, columns, rows=100):
    pq.write_table(columns, path, row_group_size=rows)
    return path
