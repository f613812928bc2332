from peer import main
from peers.kafka_python import Link

main(Link)
