from peer import main
from peers.kafka import Link

main(Link)
