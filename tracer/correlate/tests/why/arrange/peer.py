#!/usr/bin/env python3
"""MQTT peers that misbehave as they are told, for the recorded scenarios: MQTT 3.1.1, one thread, no library."""

import argparse
import selectors
import socket
import struct
import time

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, PINGREQ, PINGRESP = 1, 2, 3, 4, 8, 9, 12, 13
TOPIC = b"wirelap/why"


def packet(kind, body=b"", flags=0):
    length, out = len(body), bytearray([kind << 4 | flags])
    while True:
        length, low = divmod(length, 128)
        out.append(low | (0x80 if length else 0))
        if not length:
            return bytes(out) + body


def publish(number, payload, qos, again=False):
    ident = struct.pack(">H", number % 65535 + 1) if qos else b""
    body = struct.pack(">H", len(TOPIC)) + TOPIC + ident + payload
    return packet(PUBLISH, body, (8 if again else 0) | qos << 1)


class Stream:
    """Whole packets out of a socket."""

    def __init__(self, sock):
        self.sock, self.bytes = sock, b""

    def fill(self):
        got = self.sock.recv(1 << 20)
        self.bytes += got
        return bool(got)

    def packets(self):
        while True:
            length, at = 0, 1
            while at < len(self.bytes) and at < 5:
                length |= (self.bytes[at] & 0x7F) << 7 * (at - 1)
                at += 1
                if self.bytes[at - 1] < 0x80:
                    break
            else:
                return
            if len(self.bytes) < at + length:
                return
            head, body = self.bytes[0], self.bytes[at : at + length]
            self.bytes = self.bytes[at + length :]
            yield head >> 4, head & 15, body

    def wait(self, kind):
        while True:
            for got, _, body in self.packets():
                if got == kind:
                    return body
            if not self.fill():
                raise SystemExit("the other end closed")


def burn(ms):
    end = time.perf_counter() + ms / 1000
    while time.perf_counter() < end:
        pass


def nap(ms):
    if ms:  # even a sleep of no time is one
        time.sleep(ms / 1000)


def connect(told, name):
    sock = socket.socket()
    if told.rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, told.rcvbuf)
    if told.sndbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, told.sndbuf)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if told.congestion:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, told.congestion.encode())
    sock.connect((told.host, told.port))
    stream = Stream(sock)
    ident = name.encode()
    sock.sendall(packet(CONNECT, b"\0\4MQTT\4\2\0\x3c" + struct.pack(">H", len(ident)) + ident))
    stream.wait(CONNACK)
    return stream


def subscriber(told):
    stream = connect(told, "why-sub")
    wish = struct.pack(">HH", 1, len(TOPIC)) + TOPIC + bytes([told.qos])
    stream.sock.sendall(packet(SUBSCRIBE, wish, 2))
    stream.wait(SUBACK)
    print("ready", flush=True)
    got, pinged = 0, time.monotonic()
    while got < told.messages:
        if not stream.fill():
            return
        for kind, flags, body in stream.packets():
            if kind != PUBLISH:
                continue
            got += 1
            burn(told.burn)
            nap(told.sleep)
            if flags & 6:
                at = 2 + struct.unpack(">H", body[:2])[0]
                stream.sock.sendall(packet(PUBACK, body[at : at + 2]))
        if told.ping and time.monotonic() - pinged >= told.ping / 1000:
            pinged = time.monotonic()
            stream.sock.sendall(packet(PINGREQ))


def publisher(told):
    stream = connect(told, "why-pub")
    if told.cork:
        stream.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    begin = time.monotonic()
    for number in range(told.messages):
        payload = (b"%010d" % number).ljust(told.payload, b".")
        whole = publish(number, payload, told.qos)
        part = len(whole) // 2 if told.halves else 0
        stream.sock.sendall(whole[:part])
        nap(told.halves)
        stream.sock.sendall(whole[part:])
        if told.again and number % told.again == 0:
            stream.sock.sendall(publish(number, payload, told.qos, again=True))
        if told.cork == "letgo":
            stream.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            stream.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        left = begin + (number + 1) / told.rate - time.monotonic()
        time.sleep(max(0, left))
    time.sleep(told.linger)


def broker(told):
    listener = socket.create_server((told.host, told.port))
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ, None)
    subscribers, streams = [], 0
    print("ready", flush=True)
    while True:
        for key, _ in ready.select():
            if key.data is None:
                sock, _ = listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0 if told.nagle else 1)
                ready.register(sock, selectors.EVENT_READ, Stream(sock))
                streams += 1
                continue
            stream = key.data
            if not stream.fill():
                ready.unregister(stream.sock)
                stream.sock.close()
                streams -= 1
                if streams == 0:
                    return
                continue
            for kind, flags, body in stream.packets():
                if kind == CONNECT:
                    stream.sock.sendall(packet(CONNACK, b"\0\0"))
                elif kind == SUBSCRIBE:
                    subscribers.append(stream)
                    stream.sock.sendall(packet(SUBACK, body[:2] + b"\0"))
                elif kind == PINGREQ:
                    nap(told.chore)
                    stream.sock.sendall(packet(PINGRESP))
                elif kind == PUBLISH:
                    forward(told, stream, flags, body, subscribers)


def forward(told, stream, flags, body, subscribers):
    at = 2 + struct.unpack(">H", body[:2])[0]
    if flags & 6:
        stream.sock.sendall(packet(PUBACK, body[at : at + 2]))
        body = body[:at] + body[at + 2 :]
    burn(told.burn)
    number = int(body[at : at + 10])
    if told.swallow and number % told.swallow == 0:
        return
    for subscriber in subscribers:
        subscriber.sock.sendall(packet(PUBLISH, body))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--host", default="127.0.0.1")
    args.add_argument("--port", type=int, required=True)
    args.add_argument("--messages", type=int, default=200)
    args.add_argument("--rate", type=float, default=100)
    args.add_argument("--payload", type=int, default=64)
    args.add_argument("--qos", type=int, default=0)
    args.add_argument("--rcvbuf", type=int, help="SO_RCVBUF, bytes")
    args.add_argument("--sndbuf", type=int, help="SO_SNDBUF, bytes")
    args.add_argument("--congestion", help="TCP_CONGESTION: cubic, reno …")
    args.add_argument("--burn", type=float, default=0, help="ms of work on each message")
    args.add_argument("--sleep", type=float, default=0, help="ms asleep after each message")
    args.add_argument("--ping", type=float, default=0, help="ms between keep-alives")
    args.add_argument("--chore", type=float, default=0, help="ms that the broker sleeps before it answers a keep-alive")
    args.add_argument("--again", type=int, default=0, help="send every Nth message again, as a duplicate")
    args.add_argument("--swallow", type=int, default=0, help="forward all but every Nth message")
    args.add_argument("--cork", choices=["kept", "letgo"], help="TCP_CORK, kept on or taken off after each message")
    args.add_argument("--halves", type=float, default=0, help="ms between the two halves of a message")
    args.add_argument("--nagle", action="store_true", help="leave TCP_NODELAY off")
    args.add_argument("--linger", type=float, default=0.5, help="s until the publisher ends")
    args.add_argument("role", choices=["sub", "pub", "broker"])
    told = args.parse_args()
    {"sub": subscriber, "pub": publisher, "broker": broker}[told.role](told)


if __name__ == "__main__":
    main()
