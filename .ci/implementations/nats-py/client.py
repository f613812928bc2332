from peer import main
from peers.nats import Link

main(Link)
