#!/usr/bin/env bash
# iproute2 6.1.0 (ip of Debian 12): a device with the name br is made, shown and given an address,
# but cannot be switched on with `ip link set br up`: "up" is said to be no link layer address.
#
# One would expect: a name that `ip link add name` takes is the name that `ip link set NAME up`
# takes, as it does with br0; the manual has `ip link set DEVICE up`.
#
# Seen: ip looks for an option first, and br is the beginning of "broadcast", so "up" is to be
# the new broadcast address. The same name is a device to `ip link show br` and to
# `ip address add … dev br`, so a script goes on with a bridge that has an address and forwards
# nothing. With "dev" before it the name is a name.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

not_tried() { tail -n 3 log || true; echo "not tried: $1"; exit 2; }

apt-get download iproute2=6.1.0-3 >log 2>&1 || not_tried "Debian's package could not be fetched"
for package in *.deb; do dpkg -x "$package" tools; done
export PATH="$dir/tools/bin:$PATH"
ip -V >version 2>log || not_tried "a library of ip is missing"
unshare --map-root-user --net ip link add name br type bridge 2>log || not_tried "no network with a bridge can be made"

cat >probe.sh <<'SH'
is_up() { if ip -o link show dev "$1" | grep -q "[<,]UP[,>]"; then echo "on"; else echo "off"; fi; }
try() {
    if said=$("$@" 2>&1); then said="done"; fi
    echo "$*: $said"
}
ip link add name br type bridge
ip link add name br0 type bridge
try ip address add 192.0.2.1/24 dev br
try ip link set br0 up
try ip link set br up
echo "br0 is $(is_up br0), br is $(is_up br)"
try ip link set dev br up
echo "br is $(is_up br)"
SH
unshare --map-root-user --net sh probe.sh >seen 2>log || not_tried "the devices could not be made"
cat version seen
cat >stated <<'TEXT'
ip address add 192.0.2.1/24 dev br: done
ip link set br0 up: done
ip link set br up: "up" is invalid lladdr.
br0 is on, br is off
ip link set dev br up: done
br is on
TEXT
cmp -s seen stated || { echo "changed: br is not taken for an option, or with other words"; exit 1; }
