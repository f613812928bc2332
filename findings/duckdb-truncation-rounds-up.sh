#!/usr/bin/env bash
# DuckDB 2.0.1: date_trunc and time_bucket of a time with nanoseconds can lie after the
# time itself; for the last 500 ns of 2026 year(t) is 2027 and date_part('year', t) 2026.
#
# One would expect: date_trunc never goes up (as it does not for the usual TIMESTAMP), a bucket
# begins at or before what is in it, and year(t) is short for date_part('year', t).
#
# Seen: some functions know TIMESTAMP_NS, the type of packet times from Parquet, others
# first turn it into microseconds, and that rounds. What happens in the last half
# microsecond of a second, an hour or a year is counted in the next one (of a time
# each 100 ns, the last five in a second), where other functions leave it.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: duckdb==2.0.1 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: duckdb 2.0.1 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import sys

import duckdb

NANO = "TIMESTAMP_NS '2026-12-31 23:59:59.999999600'"
MICRO = "TIMESTAMP '2026-12-31 23:59:59.999999'"
STATED = {
    "t::VARCHAR": ("2026-12-31 23:59:59.9999996", "2026-12-31 23:59:59.999999"),
    "date_trunc('second', t)": ("2027-01-01 00:00:00", "2026-12-31 23:59:59"),
    "date_trunc('year', t)": ("2027-01-01 00:00:00", "2026-01-01 00:00:00"),
    "time_bucket(INTERVAL '1 hour', t)": ("2027-01-01 00:00:00", "2026-12-31 23:00:00"),
    "year(t)": ("2027", "2026"),
    "date_part('year', t)": ("2026", "2026"),
    "strftime(t, '%Y-%m-%d')": ("2026-12-31", "2026-12-31"),
}

seen = {}
print(f"{'':34} {'with nanoseconds':27} with microseconds")
for query in STATED:
    seen[query] = duckdb.execute(f"SELECT ({query})::VARCHAR, (SELECT ({query})::VARCHAR FROM (SELECT {MICRO} AS t)) FROM (SELECT {NANO} AS t)").fetchone()
    print(f"{query:34}", *(f"{value:27}" for value in seen[query]))
later = duckdb.execute("""
    SELECT count(*) FROM (SELECT make_timestamp_ns(1767225600000000000 + 100 * i) AS t FROM range(10000000) AS steps(i))
    WHERE date_trunc('second', t) > t""").fetchone()[0]
print("of 10,000,000 times, one each 100 ns of a second, those with a later date_trunc('second', t):", later)
if seen != STATED or later != 5:
    print("changed: stated was", STATED, "and 5")
    sys.exit(1)
PY
"$dir/venv/bin/python" "$dir/probe.py"
