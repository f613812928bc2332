"""Of packets with samples (number, participant, writers, sequence numbers), those with a sample that is kept: all of the
announcements of endpoints and nodes, and the first ones of every other writer, each once."""

import sys

PARTICIPANTS, FIRST = "0x000100c2", 4
# Writers of SEDP, and the first one that ROS 2 makes: of `ros_discovery_info`.
ANNOUNCEMENTS = ("0x000003c2", "0x000004c2", "0x00000103")
packets, samples = [], {}
for line in sys.stdin:
    number, participant, writers, numbers = line.rstrip("\n").split("\t")
    inside = [((participant.split(",")[0], writer), sample) for writer, sample in zip(writers.split(","), numbers.split(","))]
    packets.append((number, inside))
    for writer, sample in inside:
        samples.setdefault(writer, [])
        if sample not in samples[writer]:
            samples[writer].append(sample)
kept = {
    (writer, sample)
    for writer, all_of_it in samples.items()
    if writer[1] != PARTICIPANTS
    for sample in (all_of_it if writer[1] in ANNOUNCEMENTS else all_of_it[:FIRST])
}
for number, inside in packets:
    if kept.intersection(inside):
        kept.difference_update(inside)
        print(number)
