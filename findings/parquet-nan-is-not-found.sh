#!/usr/bin/env bash
# DuckDB 2.0.1 and pyarrow 26.0.1: a filter for NaN finds nothing in a Parquet file
# that has one, and finds it once the same rows are in a table.
#
# One would expect: a filter gives the same rows whether it runs on a file or on
# what was read from it. Parquet leaves NaN out of a column's minimum and maximum,
# and its specification says that who looks for NaN must ignore both.
#
# Seen: both skip a part of the file by its minimum and maximum all the same.
# DuckDB, for which NaN is above all numbers, finds it neither with isnan(x) nor with
# x > 100 nor as max(x), though ORDER BY x DESC shows it first. pyarrow finds it as
# long as the other values differ; beside one constant value is_nan gives nothing.
# So "how many latencies could not be computed" is answered with 0.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: duckdb==2.0.1 pyarrow==26.0.1 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: duckdb 2.0.1 and pyarrow 26.0.1 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import math
import sys

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

FILES = {"differ": [1.0, 2.0, math.nan], "equal": [5.0, 5.0, math.nan]}
for name, values in FILES.items():
    pq.write_table(pa.table({"x": values}), f"{name}.parquet")


def duck(query, rows):
    return duckdb.execute(f"SELECT {query.format(rows=rows)}").fetchone()[0]


duckdb.execute("CREATE TABLE copied AS FROM 'differ.parquet'")
seen = []
print("DuckDB on 1, 2, NaN (file, table made from it):")
for query in (
    "count(*) FROM {rows}",
    "count(*) FROM {rows} WHERE isnan(x)",
    "count(*) FROM {rows} WHERE x > 100",
    "max(x) FROM {rows}",
    "x FROM {rows} ORDER BY x DESC LIMIT 1",
):
    pair = [str(duck(query, rows)) for rows in ("'differ.parquet'", "copied")]
    seen.append(pair)
    print(f"  {query.format(rows='rows'):36}", *pair)

print("pyarrow, rows that are NaN (file, the same rows in memory):")
for name, values in FILES.items():
    rows = ds.dataset(f"{name}.parquet")
    found = pc.is_nan(ds.field("x"))
    pair = [str(rows.to_table(filter=found).num_rows), str(rows.to_table().filter(found).num_rows)]
    seen.append(pair)
    print(f"  of {', '.join(map(str, values)):33}", *pair)

stated = [["3", "3"], ["0", "1"], ["0", "1"], ["2.0", "nan"], ["nan", "nan"], ["1", "1"], ["0", "1"]]
if seen != stated:
    print("changed: stated was", stated)
    sys.exit(1)
PY
cd "$dir" && venv/bin/python probe.py
