"""Asks DuckDB for the figures of each result in a Parquet file of messages, and prints them as JSON."""

import json
import sys

import duckdb

connection = duckdb.connect()
connection.read_parquet(sys.argv[1]).create_view("messages")


def rows(sql):
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


RESULT = "middleware, broker, variant, trial_payload_bytes"
# The rank of a percentile is that of HdrHistogram: the smallest value that so many per mille do not exceed.
RANKS = ", ".join(
    f"sorted[greatest(1, ceil({per_mille} * n / 1000.0)::BIGINT)] AS {name}"
    for name, per_mille in [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)]
)
SEGMENTS = r"COLUMNS('leg\d_in_.*_ns')"
# All segments of a message together.
WHOLE = " + ".join(
    f"coalesce({column['column_name']}, 0)"
    for column in rows("SELECT column_name FROM (DESCRIBE messages)")
    if "_in_" in column["column_name"]
)

print(json.dumps({
    "latency": rows(f"""
        SELECT {RESULT}, n, min, max, sum, {RANKS} FROM (
            SELECT {RESULT}, count(*) AS n, min(one_way_ns) AS min, max(one_way_ns) AS max,
                sum(one_way_ns)::BIGINT AS sum, list_sort(list(one_way_ns)) AS sorted
            FROM messages WHERE status = 'counted' GROUP BY ALL)"""),
    "status": rows(f"SELECT {RESULT}, repetition, status, count(*) AS n FROM messages GROUP BY ALL"),
    "segments": rows(f"""
        SELECT {RESULT}, repetition, name, count(time) AS n, sum(time)::BIGINT AS sum
        FROM (UNPIVOT (SELECT * FROM messages WHERE status = 'counted') ON {SEGMENTS} INTO NAME name VALUE time)
        GROUP BY ALL"""),
    "spent": rows(f"""
        SELECT {RESULT}, repetition, s.leg AS leg, s.segment AS segment, s.cause AS cause,
            sum(s.time_ns)::BIGINT AS sum
        FROM (SELECT {RESULT}, repetition, unnest(spent) AS s FROM messages WHERE status = 'counted') GROUP BY ALL"""),
    # What must hold of each single message.
    "wrong": rows(f"""
        SELECT count(*) AS n FROM messages WHERE status = 'counted' AND (
            one_way_ns IS DISTINCT FROM {WHOLE}
            OR one_way_ns IS DISTINCT FROM list_sum(list_transform(spent, lambda part: part.time_ns))
            OR one_way_ns IS DISTINCT FROM
                (CASE legs WHEN 1 THEN leg1_at_read_ns WHEN 2 THEN leg2_at_read_ns END) - begins_at_ns
            OR abs(epoch_ns(now()) - (begins_at_ns + wall_offset_ns)) > 3_600_000_000_000)""")[0]["n"],
    "identity": rows(f"""
        SELECT {RESULT}, max(legs) AS legs, count(DISTINCT topic) AS topics, min(topic) AS topic,
            count(DISTINCT leg1_source) AS sources, count(DISTINCT leg1_sender_pid) AS senders,
            min(payload_bytes) AS payload_bytes, count(DISTINCT (repetition, stream, is_reply, sequence)) AS messages
        FROM messages WHERE status = 'counted' GROUP BY ALL"""),
}))
