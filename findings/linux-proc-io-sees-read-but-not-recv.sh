#!/usr/bin/env bash
# Linux: /proc/PID/io counts what a program receives and sends on sockets if it uses
# read and write, and nothing if it uses recv and send; Node's TCP is in, Python's
# is not.
#
# One would expect: rchar and wchar are what a process read and wrote, sockets
# included ("read and similar calls", files, pipes or terminals), or the sockets
# are left out for everyone. In no case does it depend on the language.
#
# Seen: the same megabyte over TCP, received and sent back, is two megabytes in the
# counters of a program in Node and none in those of one in Python; Python's os.read and
# os.write on the same kind of socket count as well. Who compares services by these
# two counters compares their runtimes, not their loads.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >echo.py <<'PY'
import os
import socket
import sys

how, port = sys.argv[1], int(sys.argv[2])
conn = socket.create_connection(("127.0.0.1", port))
receive, send = (conn.recv, conn.send) if how == "recv" else (lambda n: os.read(conn.fileno(), n), lambda b: os.write(conn.fileno(), b))
while data := receive(65536):
    while data:
        data = data[send(data):]
PY
cat >echo.js <<'JS'
const conn = require('net').connect(+process.argv[3], '127.0.0.1');
conn.pipe(conn, { end: false });
JS
cat >probe.py <<'PY'
import platform
import shutil
import socket
import subprocess
import sys

BYTES = 1_000_000
PROGRAMS = {
    "Node, net": ["node", "echo.js", "-"],
    "Python, os.read and os.write": [sys.executable, "echo.py", "read"],
    "Python, recv and send": [sys.executable, "echo.py", "recv"],
}


def counters(pid):
    with open(f"/proc/{pid}/io") as lines:
        values = dict(line.split(": ") for line in lines)
    return int(values["rchar"]), int(values["wchar"])


def exchange(conn, count):
    """Sends bytes and waits until as many have come back."""
    conn.sendall(bytes(count))
    left = count
    while left:
        part = len(conn.recv(left))
        if not part:
            raise OSError("the program closed its connection")
        left -= part


def measure(program):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        process = subprocess.Popen([*program, str(listener.getsockname()[1])])
        try:
            conn, _ = listener.accept()
            conn.settimeout(60)
            exchange(conn, 1)  # What the program reads to start with is over now.
            before = counters(process.pid)
            for _ in range(BYTES // 10_000):
                exchange(conn, 10_000)
            return [after - at_first for at_first, after in zip(before, counters(process.pid))]
        finally:
            process.kill()
            process.wait()


if not shutil.which("node"):
    print("not tried: no node")
    sys.exit(2)
print("Linux", platform.release())
changed = False
for name, program in PROGRAMS.items():
    try:
        read, written = measure(program)
    except OSError as error:
        print("not tried:", error)
        sys.exit(2)
    print(f"{BYTES} bytes received and sent back by {name}: rchar +{read}, wchar +{written}")
    counted = min(read, written) >= BYTES
    changed |= max(read, written) >= BYTES / 10 if name.endswith("send") else not counted
if changed:
    print("changed: stated was a megabyte for the first two and nothing for the last")
sys.exit(changed)
PY
python3 probe.py
