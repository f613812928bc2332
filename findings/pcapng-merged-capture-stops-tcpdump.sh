#!/usr/bin/env bash
# Wireshark's mergecap 4.0.17 and tcpdump 4.99.3 with libpcap 1.10.3 (Debian 12):
# tcpdump reads two captures, but not the merge of the two, if their snap lengths
# differ.
#
# One would expect: the snap length is a note on how much was kept of a packet; each
# packet has its own lengths. Both tools read both captures, so what one makes of
# the two the other reads.
#
# Seen: mergecap gives each capture an interface with its own snap length, as the
# format wants it. libpcap has one snap length for a whole file and refuses the file
# at the second interface, here before the first packet. Where captures of several
# hosts are merged, one `tcpdump -s 96` among them is enough. editcap -F pcap turns
# the merge into a file that tcpdump reads.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

not_tried() { tail -n 3 log || true; echo "not tried: $1"; exit 2; }

wireshark=4.0.17-0+deb12u3
get() { apt-get download tcpdump=4.99.3-1 libpcap0.8=1.10.3-1 wireshark-common=$wireshark libwiretap13=$wireshark libwsutil14=$wireshark; }
get >log 2>&1 || not_tried "Debian's packages could not be fetched"
for package in *.deb; do dpkg -x "$package" tools; done
export PATH="$dir/tools/usr/bin:$PATH" LD_LIBRARY_PATH="$dir/tools/usr/lib/x86_64-linux-gnu"
mergecap --version >log 2>&1 && tcpdump --version >log 2>&1 || not_tried "a library of the tools is missing"

# Two captures of one packet each, snap lengths 65535 and 96.
python3 - <<'PY'
import struct

for name, snap, second in (("long", 65535, 1), ("short", 96, 2)):
    packet = bytes.fromhex("ffffffffffff" "020000000001" "88b5") + b"x" * 46
    with open(f"{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 1))
        file.write(struct.pack("<IIII", second, 0, len(packet), len(packet)) + packet)
PY
mergecap -w merged.pcapng long.pcap short.pcap
editcap -F pcap merged.pcapng merged.pcap
for file in long.pcap short.pcap merged.pcapng merged.pcap; do
    TZ=UTC tcpdump -nr $file >$file.out 2>$file.err || true
    echo "tcpdump reads $(grep -c "^00:" $file.out || true) packets of $file: $(tail -n 1 $file.err)"
done
if ! grep -q "snapshot length 96 different" merged.pcapng.err || [ "$(grep -c "^00:" merged.pcap.out || true)" != 2 ]; then
    echo "changed: tcpdump reads the merge, or stops for another reason"
    exit 1
fi
