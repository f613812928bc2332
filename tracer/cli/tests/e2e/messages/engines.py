"""Asks several engines the same questions about a folder of Parquet files, and prints their answers as JSON."""

import json
import sys

import datafusion
import duckdb
import polars

files = sys.argv[1] + "/*.parquet"

# By topic: messages, the sum of their latencies and the largest, and when the first one began.
TOPICS = """
    SELECT topic, middleware, broker, host, count(*) AS n, sum(one_way_ns) AS sum, max(one_way_ns) AS max,
        min(begins_at_ns + wall_offset_ns) AS first
    FROM {} WHERE status = 'counted' GROUP BY topic, middleware, broker, host ORDER BY topic, middleware, broker"""
# The slowest messages, and who sent and read them.
SLOWEST = """
    SELECT one_way_ns, leg1_sender_pid, leg2_reader_pid FROM {} WHERE status = 'counted'
    ORDER BY one_way_ns DESC, begins_at_ns LIMIT 10"""


def with_duckdb(question):
    cursor = duckdb.execute(question.format(f"read_parquet('{files}')"))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def with_polars(question):
    context = polars.SQLContext(messages=polars.scan_parquet(files))
    return context.execute(question.format("messages"), eager=True).to_dicts()


def with_datafusion(question):
    context = datafusion.SessionContext()
    context.register_parquet("messages", sys.argv[1])
    return context.sql(question.format("messages")).to_pylist()


print(json.dumps({
    name: {"topics": ask(TOPICS), "slowest": ask(SLOWEST)}
    for name, ask in [("duckdb", with_duckdb), ("polars", with_polars), ("datafusion", with_datafusion)]
}))
