from peer import main
from peers.dds import Link

main(Link, linger="0")
