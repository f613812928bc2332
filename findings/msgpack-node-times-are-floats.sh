#!/usr/bin/env bash
# msgpackr 2.1.4 (npm) read by msgpack 1.2.4 (PyPI): a whole number of more than 32 bits
# that JavaScript packs arrives as a float; the same field is an integer below.
#
# One would expect: MessagePack keeps integers of up to 64 bits and the shortest form is
# used, so Number.isInteger(x) in JavaScript is an int in Python as long as it is safe (2^53).
# @msgpack/msgpack does so for the same values.
#
# Seen: from 2^32 on, and below -2^31, msgpackr writes a double. A time in milliseconds is always
# one, a byte counter or an offset becomes one when it passes 4 GiB: the type of a field
# changes with its value, after months. Python computes on with floats (ids and keys
# become "4294967296.0"), decoders with types refuse it.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

npm install --silent --no-audit --no-fund --ignore-scripts --cache "$dir/npm" --prefix "$dir" \
    msgpackr@2.1.4 @msgpack/msgpack@3.1.3 >log 2>&1 &&
    python3 -m venv "$dir/venv" >log 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: msgpack==1.2.4 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: msgpackr 2.1.4 and msgpack 1.2.4 could not be installed"; exit 2; }

cat >pack.js <<'JS'
const { pack } = require('msgpackr');
const { encode } = require('@msgpack/msgpack');

const values = [2 ** 32 - 1, 2 ** 32, 1_700_000_000_000, Number.MAX_SAFE_INTEGER, -(2 ** 31), -(2 ** 31) - 1];
const hex = (bytes) => Buffer.from(bytes).toString('hex');
console.log(JSON.stringify(values.map((value) => [value, hex(pack(value)), hex(encode(value))])));
JS
cat >probe.py <<'PY'
import json
import subprocess
import sys

import msgpack

try:
    packed = json.loads(subprocess.run(["node", "pack.js"], check=True, capture_output=True, timeout=60).stdout)
except (OSError, subprocess.SubprocessError) as error:
    print("not tried:", error)
    sys.exit(2)
seen = []
print("packed in JavaScript by msgpackr and by @msgpack/msgpack, unpacked in Python:")
for value, *both in packed:
    unpacked = [msgpack.unpackb(bytes.fromhex(one)) for one in both]
    print(f"  {value:>17}: {unpacked[0]!r:>20} {unpacked[1]!r:>18}")
    seen.append(tuple(type(one).__name__ for one in unpacked))
fits, wider = ("int", "int"), ("float", "int")
if seen != [fits, wider, wider, wider, fits, wider]:
    print("changed: stated was float from 2^32 on and below -2^31 by msgpackr, int by the other")
    sys.exit(1)
PY
"$dir/venv/bin/python" probe.py
