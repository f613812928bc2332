"""Sessions of pyzmq (libzmq) over TCP, and what its programs sent and got.

Prints a line for each kind of message that a socket sent: port, direction (to or from the end that listens), topic,
payload bytes, number of messages.
"""

import collections

import zmq

sent = collections.Counter()
context = zmq.Context()


def pair(port, listening, connecting, options=()):
    server, client = context.socket(listening), context.socket(connecting)
    for socket in (server, client):
        socket.linger = 5000
        socket.rcvtimeo = 5000
    for option, value in options:
        client.setsockopt(option, value)
    server.bind(f"tcp://127.0.0.1:{port}")
    client.connect(f"tcp://127.0.0.1:{port}")
    return server, client


def count(port, direction, topic, payload):
    sent[port, direction, topic, payload] += 1


def publish_and_subscribe():
    publisher, subscriber = pair(5551, zmq.XPUB, zmq.SUB, [(zmq.HEARTBEAT_IVL, 20)])
    subscriber.subscribe(b"")
    assert publisher.recv() == b"\x01"
    for n in range(40):
        payload = b"x" * (n * 25)
        publisher.send_multipart([b"topic/%d" % (n % 3), payload])
        count(5551, "from", f"topic/{n % 3}", len(payload))
    publisher.send_multipart([b"parts", b"abc", b"", b"de"])
    count(5551, "from", "parts", 5)
    publisher.send(b"alone")
    count(5551, "from", "", 5)
    publisher.send_multipart([b"large", b"y" * 70_000])
    count(5551, "from", "large", 70_000)
    for _ in range(43):
        subscriber.recv_multipart()
    # Some heartbeats.
    assert subscriber.poll(100) == 0
    return publisher, subscriber


def push_and_pull():
    pull, push = pair(5552, zmq.PULL, zmq.PUSH)
    for n in range(20):
        push.send(b"job %d" % n)
        count(5552, "to", "", len(b"job %d" % n))
    push.send_multipart([b"two", b"parts"])
    count(5552, "to", "", 8)
    for _ in range(21):
        pull.recv_multipart()
    return pull, push


def request_and_reply(port, listening, connecting):
    server, client = pair(port, listening, connecting)
    for n in range(10):
        body = b"request %d" % n
        client.send_multipart([b"", body] if connecting == zmq.DEALER else [body])
        count(port, "to", "", len(body))
        request = server.recv_multipart()
        request[-1] = b"re: " + request[-1]
        server.send_multipart(request)
        count(port, "from", "", len(body) + 4)
        client.recv_multipart()
    return server, client


def through_a_proxy():
    """REQ, a ROUTER and a DEALER that pass on, REP: the identity is put before the message in between."""
    front, client = pair(5556, zmq.ROUTER, zmq.REQ)
    service, back = pair(5557, zmq.REP, zmq.DEALER)
    for n in range(5):
        client.send(b"question %d" % n)
        back.send_multipart(front.recv_multipart())
        service.send(service.recv() + b"!")
        front.send_multipart(back.recv_multipart())
        assert client.recv() == b"question %d!" % n
        for port in (5556, 5557):
            count(port, "to", "", 10)
            count(port, "from", "", 11)
    return front, client, service, back


sockets = [
    *publish_and_subscribe(),
    *push_and_pull(),
    *request_and_reply(5553, zmq.REP, zmq.REQ),
    *request_and_reply(5554, zmq.ROUTER, zmq.DEALER),
    *request_and_reply(5555, zmq.ROUTER, zmq.REQ),
    *through_a_proxy(),
]
for socket in sockets:
    socket.close()
context.term()
print("port\tdirection\ttopic\tpayload\tmessages")
for (port, direction, topic, payload), messages in sorted(sent.items()):
    print(port, direction, topic or "-", payload, messages, sep="\t")
