"""A NATS client of a few lines that encrypts with OpenSSL on the socket itself: `nats.py PORT KEYS pub`, or `sub COUNT`.

The server speaks first, in plain text, and both then go over to TLS (docs.nats.io, "NATS Protocol"). `sub` prints `ready` and a
line for each message; `pub` sends each line of its input.
"""

import socket
import ssl
import sys

port, keys, role = int(sys.argv[1]), sys.argv[2], sys.argv[3]
plain = socket.create_connection(("127.0.0.1", port))
greeting = b""
while not greeting.endswith(b"\r\n"):
    greeting += plain.recv(1)
assert b'"tls_required":true' in greeting, greeting
context = ssl.create_default_context(cafile="cert.pem")
context.keylog_filename = keys
tls = context.wrap_socket(plain, server_hostname="localhost")
lines = tls.makefile("rb")


def say(text):
    tls.sendall(text)


def until(word):
    """Until the server says it; its pings are answered."""
    while True:
        line = lines.readline()
        assert line and not line.startswith(b"-ERR"), line
        if line.startswith(b"PING"):
            say(b"PONG\r\n")
        elif line.startswith(word):
            return line


say(b'CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n')
until(b"PONG")
if role == "sub":
    say(b"SUB wirelap.a 1\r\nPING\r\n")
    until(b"PONG")
    print("ready", flush=True)
    for _ in range(int(sys.argv[4])):
        size = int(until(b"MSG").split()[-1])
        print(lines.read(size + 2)[:size].decode(), flush=True)
else:
    for line in sys.stdin.buffer:
        text = line.rstrip(b"\n")
        say(b"PUB wirelap.a %d\r\n%s\r\n" % (len(text), text))
    say(b"PING\r\n")
    until(b"PONG")
tls.close()
