import threading

from peer import options
from zenoh_link import Link

chosen = options("router")
chosen.settings |= {"mode": "router", "listen": True}
router = Link(chosen)
threading.Event().wait()
