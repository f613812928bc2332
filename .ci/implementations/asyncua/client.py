from peer import main
from peers.opcua import Link

main(Link)
