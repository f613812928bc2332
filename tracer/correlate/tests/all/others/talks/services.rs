//! Conversations of a network's services: tunnels, files, directories, routes, accounts, procedures.

use super::{Talk, be16, be32, join, le16, le32, sized, talk, udp};
use wirelap_test_support::random::Random;

/// `OpenVPN`: opcode and key, session id, what is acknowledged, packet number; over TCP behind a length.
pub fn openvpn(name: &'static str, is_tcp: bool, data: usize) -> Talk {
    let framed = |body: Vec<u8>| if is_tcp { sized(2, &body) } else { body };
    let (client, server) =
        (b"\x11\x22\x33\x44\x55\x66\x77\x88", b"\x99\xaa\xbb\xcc\xdd\xee\xff\x01");
    let control = |op: u8, from: &[u8; 8], to: &[u8; 8], n: usize, body: &[u8]| {
        framed(join(&[&[op << 3], from, &[1], &be32(n), to, &be32(n), body]))
    };
    let opening = vec![
        (true, framed(join(&[&[7 << 3], client, &[0], &be32(0)]))),
        (false, framed(join(&[&[8 << 3], server, &[1], &be32(0), client, &be32(0)]))),
        (true, framed(join(&[&[5 << 3], client, &[1], &be32(0), server]))),
    ];
    let mut talk = talk(name, 1194, opening, &mut |n, random| match n {
        0..4 => (
            control(4, client, server, n + 1, &random.bytes(100)),
            control(4, server, client, n + 1, &random.bytes(180)),
        ),
        _ => (
            framed(join(&[&[9 << 3, 0, 0, 1], &be32(n), &random.bytes(data)])),
            framed(join(&[&[9 << 3, 0, 0, 1], &be32(n), &random.bytes(data + n * 3)])),
        ),
    });
    talk.is_udp = !is_tcp;
    talk
}

/// RTMP: the handshake, then chunks of a stream that is published.
pub fn rtmp() -> Talk {
    let mut random = Random::new(5);
    let hello = |random: &mut Random| join(&[&[3, 0, 0, 0, 0, 0, 0, 0, 0], &random.bytes(1528)]);
    let opening = vec![
        (true, hello(&mut random)),
        (false, join(&[&hello(&mut random), &random.bytes(1536)])),
        (true, random.bytes(1536)),
        (
            true,
            b"\x03\0\0\0\0\0\x5c\x14\0\0\0\0\x02\0\x07connect\0\x3f\xf0\0\0\0\0\0\0\x03\0\x03app\x02\0\x04live\0\0\x09".to_vec(),
        ),
        (false, b"\x02\0\0\0\0\0\x04\x05\0\0\0\0\0\x26\x25\xa0\x02\0\0\0\0\0\x05\x06\0\0\0\0\0\x26\x25\xa0\x02".to_vec()),
        (false, b"\x02\0\0\0\0\0\x04\x01\0\0\0\0\0\0\x10\0".to_vec()),
    ];
    talk("RTMP", 1935, opening, &mut |n, random| {
        let len = 40 + random.below(90);
        let audio = join(&[
            &[4],
            &be32(n * 23)[1..],
            &be32(len)[1..],
            &[8, 1, 0, 0, 0, 0xaf, 1],
            &random.bytes(len - 2),
        ]);
        let video = join(&[
            &[0x46],
            &be32(33)[1..],
            &be32(len)[1..],
            &[9, 0x27, 1],
            &random.bytes(len - 2),
        ]);
        let acknowledged = join(&[&[2, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0], &be32(n * 2_500_000)]);
        (join(&[&audio, &video]), if n % 5 == 0 { acknowledged } else { Vec::new() })
    })
}

/// SMB2 over a `NetBIOS` session: type 0 and a length of three bytes.
pub fn smb() -> Talk {
    let packet = |n: usize, command: usize, flags: usize, body: &[u8]| {
        let header = join(&[
            &[0xfe, b'S', b'M', b'B', 64, 0, 1, 0, 0, 0, 0, 0],
            &le16(command),
            &le16(31),
            &le32(flags),
            &le32(0),
            &le32(n),
            &le32(0),
            &[0; 4],
            &le32(5),
            &[0x11; 8],
            &[0; 16],
        ]);
        join(&[&sized(4, &join(&[&header, body]))])
    };
    talk("SMB2", 445, Vec::new(), &mut |n, random| {
        let read = join(&[&[49, 0, 0x50, 0], &le32(4096), &random.bytes(40)]);
        let data = join(&[&[17, 0, 0x50, 0], &le32(200), &[0; 8], &random.bytes(200)]);
        (packet(n, 8, 0, &read), packet(n, 8, 1, &data))
    })
}

pub fn bgp() -> Talk {
    let message =
        |kind: u8, body: &[u8]| join(&[&[0xff; 16], &be16(19 + body.len()), &[kind], body]);
    let open = message(1, b"\x04\xfd\xe8\0\xb4\x0a\0\0\x01\0");
    talk("BGP", 179, vec![(true, open.clone()), (false, open)], &mut |n, _| {
        let update =
            join(&[b"\0\0\0\x0b\x40\x01\x01\0\x40\x03\x04\x0a\0\0\x01\x18\x0a\0", &[n as u8]]);
        (message(4, &[]), if n % 3 == 0 { message(2, &update) } else { message(4, &[]) })
    })
}

/// BER: a tag and a length.
fn ber(tag: u8, body: &[u8]) -> Vec<u8> {
    match body.len() {
        0..128 => join(&[&[tag], &sized(1, body)]),
        _ => join(&[&[tag, 0x82], &sized(2, body)]),
    }
}

pub fn ldap() -> Talk {
    let message = |n: usize, operation: &[u8]| ber(0x30, &join(&[&ber(2, &[n as u8]), operation]));
    talk("LDAP", 389, Vec::new(), &mut |n, random| {
        let filter = ber(0xa3, &join(&[&ber(4, b"uid"), &ber(4, format!("user{n}").as_bytes())]));
        let search = [
            ber(4, b"dc=example,dc=com"),
            b"\x0a\x01\x02\x0a\x01\0\x02\x01\0\x02\x01\0\x01\x01\0".to_vec(),
            filter,
            ber(0x30, &[]),
        ];
        let name = ber(4, format!("uid=user{n},dc=example,dc=com").as_bytes());
        let entry = join(&[&name, &ber(0x30, &random.bytes(30))]);
        let done = ber(0x65, b"\x0a\x01\0\x04\0\x04\0");
        (
            message(n, &ber(0x63, &search.concat())),
            join(&[&message(n, &ber(0x64, &entry)), &message(n, &done)]),
        )
    })
}

pub fn snmp() -> Talk {
    let message = |kind: u8, n: usize, value: &[u8]| {
        let name = b"\x06\x08\x2b\x06\x01\x02\x01\x01\x03\0";
        let bindings = ber(0x30, &ber(0x30, &join(&[name, value])));
        let pdu = ber(kind, &join(&[&ber(2, &be32(n + 1000)), b"\x02\x01\0\x02\x01\0", &bindings]));
        ber(0x30, &join(&[b"\x02\x01\x01\x04\x06public", &pdu]))
    };
    udp(talk("SNMP", 161, Vec::new(), &mut |n, _| {
        (message(0xa0, n, &[5, 0]), message(0xa2, n, &ber(0x43, &be32(n * 100))))
    }))
}

pub fn diameter() -> Talk {
    let message = |flags: u8, command: usize, n: usize, body: &[u8]| {
        let len = 20 + body.len();
        let head = [
            &[1][..],
            &be32(len)[1..],
            &[flags],
            &be32(command)[1..],
            &be32(4),
            &be32(n),
            &be32(n + 9),
        ];
        join(&[&head.concat(), body])
    };
    talk("Diameter", 3868, Vec::new(), &mut |n, random| {
        let session = join(&[&be32(263), &[0x40, 0, 0, 24], b"host;1;2;0000000"]);
        let result = b"\0\0\x01\x0c\x40\0\0\x0c\0\0\x07\xd1";
        let _ = random.number();
        (message(0xc0, 272, n, &session), message(0x40, 272, n, &join(&[&session, result])))
    })
}

/// Thrift's binary protocol, framed.
pub fn thrift() -> Talk {
    let call = |kind: u8, n: usize, body: &[u8]| {
        let head = join(&[&[0x80, 1, 0, kind], &sized(4, b"getValue"), &be32(n)]);
        sized(4, &join(&[&head, body, &[0]]))
    };
    talk("Thrift", 9090, Vec::new(), &mut |n, random| {
        (
            call(1, n, &join(&[&[11, 0, 1], &sized(4, format!("key{n}").as_bytes())])),
            call(2, n, &join(&[&[11, 0, 0], &sized(4, &random.bytes(30))])),
        )
    })
}
