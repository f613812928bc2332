#!/usr/bin/env bash
# gopacket 1.7.7 (Go): of a pcapng with interfaces of two link types the packets of
# the second are left out, and reading ends as if the file were read whole.
#
# One would expect: packets come in their order whatever the interface; or an error
# at the first interface of another type, as libpcap (so tcpdump) gives it. The
# options' description names the silence "the libpcap behaviour"; it is not.
#
# Seen: NgReader with its default options passes over each packet whose interface
# has not the link type of the first one and returns the next that has. No error,
# no count. A capture by dumpcap of an Ethernet device and a tunnel (raw IP) shows
# a part of its traffic, which looks like loss on the way.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/probe"
cd "$dir/probe"
export GOPATH="$dir/go" GOCACHE="$dir/cache" GOFLAGS=-modcacherw

cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gopacket/gopacket/pcapgo"
)

const ethernet, rawIP = 1, 101

func main() {
	section := block(0x0a0d0d0a, uint32(0x1a2b3c4d), uint16(1), uint16(0), int64(-1))
	var file []byte
	file = append(file, section...)
	file = append(file, block(1, uint16(ethernet), uint16(0), uint32(0))...)
	file = append(file, block(1, uint16(rawIP), uint16(0), uint32(0))...)
	for i := range uint32(6) { // Packet i is i+1 bytes times four long; the interfaces take turns.
		data := make([]byte, 4*(i+1))
		file = append(file, block(6, i%2, uint32(0), i, uint32(len(data)), uint32(len(data)), data)...)
	}

	lengths := func(options pcapgo.NgReaderOptions) (all []int) {
		reader, err := pcapgo.NewNgReader(bytes.NewReader(file), options)
		must(err)
		for {
			data, _, err := reader.ReadPacketData()
			if errors.Is(err, io.EOF) {
				return all
			}
			if err != nil {
				fmt.Println("changed: an error now:", err)
				os.Exit(1)
			}
			all = append(all, len(data))
		}
	}
	usual := lengths(pcapgo.DefaultNgReaderOptions)
	mixed := pcapgo.DefaultNgReaderOptions
	mixed.WantMixedLinkType = true
	fmt.Println("the file's packets have the lengths [4 8 12 16 20 24]")
	fmt.Println("NgReader, default options:      ", usual, "then the end of the file")
	fmt.Println("NgReader with WantMixedLinkType:", lengths(mixed))
	if fmt.Sprint(usual) != "[4 12 20]" {
		fmt.Println("changed: stated was [4 12 20]")
		os.Exit(1)
	}
}

// block is a pcapng block of the fields one after another, little endian.
func block(kind uint32, fields ...any) []byte {
	var body bytes.Buffer
	for _, field := range fields {
		must(binary.Write(&body, binary.LittleEndian, field))
	}
	length := uint32(12 + body.Len())
	out := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, kind), length)
	return binary.LittleEndian.AppendUint32(append(out, body.Bytes()...), length)
}

func must(err error) {
	if err != nil {
		fmt.Println("not tried:", err)
		os.Exit(2)
	}
}
GO
go mod init probe >go.log 2>&1 && go get github.com/gopacket/gopacket@v1.7.7 >>go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -o probe . >>go.log 2>&1 ||
    { tail -n 3 go.log || true; echo "not tried: gopacket 1.7.7 could not be installed"; exit 2; }
./probe
