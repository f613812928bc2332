#!/usr/bin/env bash
# MQTT.js 5.16.0 (npm) over WebSocket: one MQTT packet goes out as a WebSocket
# message for each of its fields; a CONNECT makes nine, a small PUBLISH six.
#
# One would expect: a WebSocket message is what the application sends at once, so an
# MQTT packet is one message (or several packets share one). Over TCP the same
# client hands a packet to the kernel in one piece.
#
# Seen: the packet's writer writes header byte, length, topic length, topic, packet
# identifier and payload one after another. Over TCP all leave in one system call
# (writev); over WebSocket each becomes a frame with a header and a masking key
# of its own, most of them longer than what they carry. MQTT allows it
# (packets need not fit frames); what takes a message for a packet does not work,
# and what counts messages counts each small PUBLISH six times.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

npm install --silent --no-audit --no-fund --ignore-scripts --cache "$dir/npm" --prefix "$dir" mqtt@5.16.0 ws@8.23.0 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: MQTT.js 5.16.0 could not be installed"; exit 2; }

cat >probe.js <<'JS'
const mqtt = require('mqtt');
const { WebSocketServer } = require('ws');

const CONNECT_LENGTH = 16, PUBLISH_LENGTH = 16, PACKET_ID_AT = 7;

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'mqtt' });
const connect = [], publish = [];
let bytes = Buffer.alloc(0);

server.on('connection', (socket) => socket.on('message', (data) => {
  (bytes.length < CONNECT_LENGTH ? connect : publish).push(data.length);
  bytes = Buffer.concat([bytes, data]);
  if (bytes.length === CONNECT_LENGTH) socket.send(Buffer.from([0x20, 2, 0, 0]));
  if (bytes.length === CONNECT_LENGTH + PUBLISH_LENGTH) {
    const id = bytes.subarray(CONNECT_LENGTH + PACKET_ID_AT).subarray(0, 2);
    socket.send(Buffer.concat([Buffer.from([0x40, 2]), id]));
  }
}));

server.on('listening', () => {
  const url = `ws://127.0.0.1:${server.address().port}`;
  const client = mqtt.connect(url, { clientId: 'me', reconnectPeriod: 0 });
  client.on('connect', () => client.publish('a/b', 'payload', { qos: 1 }, () => {
    console.log('a CONNECT of', CONNECT_LENGTH, 'bytes: WebSocket messages of', connect.join(', '), 'bytes');
    console.log('a PUBLISH of', PUBLISH_LENGTH, 'bytes: WebSocket messages of', publish.join(', '), 'bytes');
    const asStated = connect.length === 9 && publish.length === 6;
    if (!asStated) console.log(`changed: stated was 9 and 6, seen ${connect.length} and ${publish.length}`);
    process.exit(asStated ? 0 : 1);
  }));
});
JS
timeout 30 node probe.js || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
