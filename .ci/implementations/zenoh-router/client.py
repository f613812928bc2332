from peer import main
from zenoh_link import Link

main(Link, mode="client")
