import sys

from peer import main
from zenoh_link import Link

# Without a router, the subscriber is the side that is connected to.
main(Link, **({"listen": True} if sys.argv[1] == "sub" else {}))
