import os
import sys

from peer import main
from peers.mqtt import Link

# A session that outlives the connection, for subscribers that go away.
is_away = sys.argv[1] == "sub" and os.environ.get("AWAY") == "1"
main(Link, **({"session": f"away{os.environ['NUMBER']}"} if is_away else {}))
