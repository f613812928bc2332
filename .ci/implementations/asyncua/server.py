import threading

from peer import options
from peers.opcua import Link

server = Link(options("listen"))
threading.Event().wait()
