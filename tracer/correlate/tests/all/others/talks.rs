//! Conversations in protocols that are none of ours, composed from their specifications.

// Lengths and counters here are small.
#![allow(clippy::cast_possible_truncation)]

/// A conversation: who says what, one message after the other.
pub struct Talk {
    pub name: &'static str,
    /// The protocol's own port.
    pub port: u16,
    pub is_udp: bool,
    /// Whether the client says it, and what.
    pub said: Vec<(bool, Vec<u8>)>,
}

/// The same random bytes each time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 32) as u8).collect()
    }
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A length of `width` bytes, high byte first, before the body.
fn sized(width: usize, body: &[u8]) -> Vec<u8> {
    join(&[&(body.len() as u64).to_be_bytes()[8 - width..], body])
}

/// The same, low byte first.
fn sized_le(width: usize, body: &[u8]) -> Vec<u8> {
    join(&[&(body.len() as u64).to_le_bytes()[..width], body])
}

fn be16(n: usize) -> [u8; 2] {
    (n as u16).to_be_bytes()
}

fn be32(n: usize) -> [u8; 4] {
    (n as u32).to_be_bytes()
}

fn le16(n: usize) -> [u8; 2] {
    (n as u16).to_le_bytes()
}

fn le32(n: usize) -> [u8; 4] {
    (n as u32).to_le_bytes()
}

/// One exchange: what the client says, and what is answered.
type Turn<'a> = &'a mut dyn FnMut(usize, &mut Random) -> (Vec<u8>, Vec<u8>);

const TURNS: usize = 30;

/// An opening, then turns. What is empty is not said.
fn talk(name: &'static str, port: u16, opening: Vec<(bool, Vec<u8>)>, turn: Turn<'_>) -> Talk {
    let mut random = Random::new(u64::from(port) + 7);
    let mut said = opening;
    for n in 0..TURNS {
        let (up, down) = turn(n, &mut random);
        said.extend([(true, up), (false, down)].into_iter().filter(|(_, bytes)| !bytes.is_empty()));
    }
    Talk { name, port, is_udp: false, said }
}

fn udp(talk: Talk) -> Talk {
    Talk { is_udp: true, ..talk }
}

/// Modbus/TCP: transaction, protocol 0, length, unit, function.
fn modbus(name: &'static str, transaction: fn(usize) -> usize, write: bool) -> Talk {
    let adu = |n: usize, pdu: &[u8]| {
        join(&[&be16(transaction(n)), &[0, 0], &sized(2, &join(&[&[1], pdu]))])
    };
    talk(name, 502, Vec::new(), &mut |n, random| {
        if write {
            let pdu = join(&[&[6], &be16(n), &be16(random.below(500))]);
            (adu(n, &pdu), adu(n, &pdu))
        } else {
            let pdu = join(&[&[3], &be16(n), &be16(2)]);
            (adu(n, &pdu), adu(n, &join(&[&[3, 4], &random.bytes(4)])))
        }
    })
}

/// `OpenVPN`: opcode and key, session id, what is acknowledged, packet number; over TCP behind a length.
fn openvpn(name: &'static str, is_tcp: bool, data: usize) -> Talk {
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

/// S7comm over TPKT and COTP.
fn s7() -> Talk {
    let tpkt = |cotp: &[u8], body: &[u8]| {
        let cotp = sized(1, cotp);
        join(&[&[3, 0], &be16(4 + cotp.len() + body.len()), &cotp, body])
    };
    let job = |kind: u8, n: usize, parameters: &[u8], data: &[u8], error: &[u8]| {
        join(&[
            &[0x32, kind, 0, 0],
            &be16(n),
            &be16(parameters.len()),
            &be16(data.len()),
            error,
            parameters,
            data,
        ])
    };
    let connect =
        |kind: u8| join(&[&[kind, 0, 0, 0, 1, 0, 0xc0, 1, 10, 0xc1, 2, 1, 0, 0xc2, 2, 1, 2]]);
    let opening = vec![(true, tpkt(&connect(0xe0), &[])), (false, tpkt(&connect(0xd0), &[]))];
    talk("S7comm", 102, opening, &mut |n, random| {
        let read = [&[4, 1, 0x12, 10, 0x10, 2][..], &be16(8), &be16(1), &[0x84, 0, 0, n as u8]];
        let data = join(&[&[0xff, 4, 0, 64], &random.bytes(8)]);
        (
            tpkt(&[0xf0, 0x80], &job(1, n, &read.concat(), &[], &[])),
            tpkt(&[0xf0, 0x80], &job(3, n, &[4, 1], &data, &[0, 0])),
        )
    })
}

/// RTMP: the handshake, then chunks of a stream that is published.
fn rtmp() -> Talk {
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

fn question(n: usize) -> Vec<u8> {
    let name = join(&[&sized(1, format!("host{n}").as_bytes()), b"\x07example\x03com\0"]);
    join(&[&be16(n * 7919), b"\x01\0\0\x01\0\0\0\0\0\0", &name, &[0, 1, 0, 1]])
}

fn answer(n: usize) -> Vec<u8> {
    let mut answer = question(n);
    answer[2..12].copy_from_slice(b"\x81\x80\0\x01\0\x01\0\0\0\0");
    join(&[&answer, b"\xc0\x0c\0\x01\0\x01\0\0\x01\x2c\0\x04\x0a\0\0", &[n as u8]])
}

/// SMB2 over a `NetBIOS` session: type 0 and a length of three bytes.
fn smb() -> Talk {
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

fn bgp() -> Talk {
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

fn ldap() -> Talk {
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

fn snmp() -> Talk {
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

/// `MySQL`: a length of three bytes, low byte first, and a number.
fn mysql() -> Talk {
    let packet = |number: u8, body: &[u8]| join(&[&le32(body.len())[..3], &[number], body]);
    let greeting = packet(0, b"\x0a8.0.36\0\x0b\0\0\0abcdefgh\0\xff\xf7\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0");
    let login = packet(
        1,
        b"\x85\xa6\xff\x01\0\0\0\x01\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0root\0\0",
    );
    let opening = vec![(false, greeting), (true, login), (false, packet(2, b"\0\0\0\x02\0\0\0"))];
    talk("MySQL", 3306, opening, &mut |n, random| {
        let row = packet(3, &sized(1, &random.bytes(20)));
        let column =
            packet(2, b"\x03def\x04test\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0");
        let end = packet(4, b"\xfe\0\0\x02\0");
        (
            packet(0, format!("\x03select a from t where id = {n}").as_bytes()),
            [packet(1, &[1]), column, row, end].concat(),
        )
    })
}

/// TDS, of Microsoft's SQL Server.
fn tds() -> Talk {
    let packet = |kind: u8, n: usize, body: &[u8]| {
        join(&[&[kind, 1], &be16(8 + body.len()), &[0, 51, n as u8, 0], body])
    };
    let prelogin = b"\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\x04\x04\0\x26\0\x01\xff\x10\0\0\0\0\0\0\0\0\0\0\0\0";
    let opening = vec![(true, packet(18, 0, prelogin)), (false, packet(4, 0, prelogin))];
    talk("TDS", 1433, opening, &mut |n, random| {
        let text: Vec<u8> =
            format!("select {n} from t").bytes().flat_map(|byte| [byte, 0]).collect();
        let row = join(&[&[0xd1], &random.bytes(24), b"\xfd\x10\0\xc1\0\x01\0\0\0\0\0\0\0"]);
        (packet(1, 1, &join(&[&le32(22), &[0; 18], &text])), packet(4, 1, &row))
    })
}

/// TNS, of Oracle.
fn tns() -> Talk {
    let packet =
        |kind: u8, body: &[u8]| join(&[&be16(8 + body.len()), &[0, 0, kind, 0, 0, 0], body]);
    let connect = b"\x01\x3a\x01\x2c\0\0\x20\0\xff\xff\x7f\x08\0\0\x01\0\0\x3a(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=XE)))";
    let opening =
        vec![(true, packet(1, connect)), (false, packet(2, &[1, 0x3a, 0, 0, 0x20, 0, 0xff, 0xff]))];
    talk("TNS", 1521, opening, &mut |n, random| {
        (
            packet(6, &join(&[&[0, 0, 3, 0x5e, n as u8], &random.bytes(60)])),
            packet(6, &join(&[&[0, 0, 6, 0], &random.bytes(90 + n)])),
        )
    })
}

fn iec104() -> Talk {
    let information = |sent: usize, received: usize, body: &[u8]| {
        let control = [le16(sent * 2), le16(received * 2)].concat();
        join(&[&[0x68], &sized(1, &join(&[&control, body]))])
    };
    let opening = vec![(true, vec![0x68, 4, 7, 0, 0, 0]), (false, vec![0x68, 4, 11, 0, 0, 0])];
    talk("IEC 104", 2404, opening, &mut |n, random| {
        let measured = join(&[&[13, 1, 3, 0, 1, 0, n as u8, 0, 0], &random.bytes(5)]);
        (join(&[&[0x68, 4, 1, 0], &le16(n * 2)]), information(n, 0, &measured))
    })
}

fn dnp3() -> Talk {
    let frame = |control: u8, body: &[u8]| {
        join(&[
            &[5, 0x64, 5 + body.len() as u8, control, 1, 0, 3, 0, 0x12, 0x34],
            body,
            &[0xab, 0xcd],
        ])
    };
    talk("DNP3", 20_000, Vec::new(), &mut |n, random| {
        let number = 0xc0 | (n as u8 & 0x0f);
        (
            frame(0xc4, &[number, number, 1, 60, 2, 6]),
            frame(0x44, &join(&[&[number, number, 0x81, 0, 0, 30, 1, 0, 0, 1], &random.bytes(6)])),
        )
    })
}

fn enip() -> Talk {
    let packet = |command: usize, n: usize, body: &[u8]| {
        join(&[
            &le16(command),
            &le16(body.len()),
            &le32(0x0102_0304),
            &[0; 4],
            &le32(n),
            &[0; 8],
            body,
        ])
    };
    let register = |session: &[u8]| join(&[b"\x65\0\x04\0", session, &[0; 16], b"\x01\0\0\0"]);
    let opening = vec![(true, register(&[0; 4])), (false, register(&[4, 3, 2, 1]))];
    talk("EtherNet/IP", 44_818, opening, &mut |n, random| {
        let item = |body: &[u8]| {
            join(&[b"\0\0\0\0\x0a\0\x02\0\xa1\0\x04\0\x01\0\x02\0\xb1\0", &sized_le(2, body)])
        };
        (
            packet(0x70, n, &item(&join(&[&le16(n), b"\x4c\x02\x20\x6b\x24\x01\x01\0"]))),
            packet(0x70, n, &item(&join(&[&le16(n), b"\xcc\0\0\0\xc4\0", &random.bytes(4)]))),
        )
    })
}

fn diameter() -> Talk {
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
        let _ = random.next();
        (message(0xc0, 272, n, &session), message(0x40, 272, n, &join(&[&session, result])))
    })
}

/// Cassandra's native protocol, version 4.
fn cassandra() -> Talk {
    let frame = |version: u8, stream: usize, op: u8, body: &[u8]| {
        join(&[&[version, 0], &be16(stream), &[op], &sized(4, body)])
    };
    let startup = b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
    let opening = vec![(true, frame(4, 0, 1, startup)), (false, frame(0x84, 0, 2, &[]))];
    talk("Cassandra", 9042, opening, &mut |n, random| {
        let query = sized(4, format!("SELECT v FROM t WHERE k={n}").as_bytes());
        (
            frame(4, n, 7, &join(&[&query, &[0, 1, 0]])),
            frame(0x84, n, 8, &join(&[&be32(2), &random.bytes(40)])),
        )
    })
}

fn mongodb() -> Talk {
    let message = |n: usize, answers: usize, document: &[u8]| {
        let document = join(&[&le32(document.len() + 5), document, &[0]]);
        let body = join(&[&le32(n), &le32(answers), &le32(2013), &le32(0), &[0], &document]);
        join(&[&le32(body.len() + 4), &body])
    };
    talk("MongoDB", 27_017, Vec::new(), &mut |n, _| {
        let find = b"\x02find\0\x02\0\0\0t\0\x02$db\0\x05\0\0\0test\0";
        (message(n, 0, find), message(n + 99, n, b"\x01ok\0\0\0\0\0\0\0\xf0\x3f"))
    })
}

/// Thrift's binary protocol, framed.
fn thrift() -> Talk {
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

/// DICOM: an association, then data.
fn dicom() -> Talk {
    let pdu = |kind: u8, body: &[u8]| join(&[&[kind, 0], &sized(4, body)]);
    let associate = join(&[
        b"\0\x01\0\0",
        b"ANY-SCP         ECHOSCU         ",
        &[0; 32],
        b"\x10\0\0\x151.2.840.10008.3.1.1.1",
    ]);
    let opening = vec![(true, pdu(1, &associate)), (false, pdu(2, &associate))];
    talk("DICOM", 104, opening, &mut |n, _| {
        let command = |kind: usize| {
            let body = join(&[
                b"\0\0\0\0\x04\0\0\0\x38\0\0\0\0\0\0\x01\x02\0\0\0",
                &le16(kind),
                b"\0\0\x10\x01\x02\0\0\0",
                &le16(n),
            ]);
            pdu(4, &sized(4, &join(&[&[1, 3], &body])))
        };
        (command(0x30), command(0x8030))
    })
}

fn memcached() -> Talk {
    talk("memcached", 11_211, Vec::new(), &mut |n, _| {
        (
            format!("get key{n}\r\n").into_bytes(),
            format!("VALUE key{n} 0 10\r\n0123456789\r\nEND\r\n").into_bytes(),
        )
    })
}

/// memcached's binary protocol.
fn memcached_binary() -> Talk {
    let packet = |magic: u8, n: usize, extras: &[u8], key: &[u8], value: &[u8]| {
        let len = extras.len() + key.len() + value.len();
        let head = join(&[
            &[magic, 0],
            &be16(key.len()),
            &[extras.len() as u8, 0, 0, 0],
            &be32(len),
            &be32(n),
            &[0; 8],
        ]);
        join(&[&head, extras, key, value])
    };
    talk("memcached binary", 11_211, Vec::new(), &mut |n, random| {
        let key = format!("key{n}");
        (
            packet(0x80, n, &[], key.as_bytes(), &[]),
            packet(0x81, n, &[0; 4], &[], &random.bytes(40)),
        )
    })
}

/// Lines of text in both directions.
fn lines(name: &'static str, port: u16, lines: &'static [(&'static str, &'static str)]) -> Talk {
    talk(name, port, Vec::new(), &mut |n, _| {
        let (up, down) = lines[n % lines.len()];
        let number = n.to_string();
        (up.replace("{n}", &number).into_bytes(), down.replace("{n}", &number).into_bytes())
    })
}

fn texts() -> Vec<Talk> {
    vec![
        lines(
            "SIP",
            5060,
            &[(
                "OPTIONS sip:a@b SIP/2.0\r\nVia: SIP/2.0/TCP a;branch=z{n}\r\nCSeq: {n} OPTIONS\r\nContent-Length: 0\r\n\r\n",
                "SIP/2.0 200 OK\r\nVia: SIP/2.0/TCP a;branch=z{n}\r\nCSeq: {n} OPTIONS\r\nContent-Length: 0\r\n\r\n",
            )],
        ),
        lines(
            "IRC",
            6667,
            &[
                ("PING :server{n}\r\n", ":server PONG server :server{n}\r\n"),
                ("PRIVMSG #room :hello {n}\r\n", ":bob!b@h PRIVMSG #room :hello back {n}\r\n"),
                ("INFO\r\n", "PING :a{n}\r\n"),
                ("PONG :a{n}\r\n", "PING\r\n"),
            ],
        ),
        lines(
            "FTP",
            21,
            &[
                ("PASV\r\n", "227 Entering Passive Mode (127,0,0,1,{n},9)\r\n"),
                ("RETR file{n}\r\n", "150 Opening\r\n226 Done\r\n"),
            ],
        ),
        lines(
            "SMTP",
            25,
            &[
                ("MAIL FROM:<a{n}@b>\r\n", "250 2.1.0 Ok\r\n"),
                ("RCPT TO:<c@d>\r\n", "250 2.1.5 Ok\r\n"),
                ("DATA\r\n", "354 End data with <CR><LF>.<CR><LF>\r\n"),
                ("Subject: {n}\r\n\r\nhello\r\n.\r\n", "250 2.0.0 Ok: queued as {n}\r\n"),
            ],
        ),
        lines(
            "RTSP",
            554,
            &[(
                "DESCRIBE rtsp://a/b RTSP/1.0\r\nCSeq: {n}\r\n\r\n",
                "RTSP/1.0 200 OK\r\nCSeq: {n}\r\nContent-Length: 5\r\n\r\nv=0\r\n",
            )],
        ),
        lines(
            "POP3",
            110,
            &[("RETR {n}\r\n", "+OK 12 octets\r\nhello world\r\n.\r\n"), ("NOOP\r\n", "+OK\r\n")],
        ),
        lines(
            "Redis",
            6379,
            &[
                ("PING\r\n", "+PONG\r\n"),
                ("*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "+OK\r\n"),
                ("*1\r\n$4\r\nPING\r\n", "-ERR no\r\n"),
            ],
        ),
        lines(
            "STOMP",
            61_613,
            &[(
                "SEND\ndestination:/queue/a\ncontent-length:5\n\nhello\0",
                "MESSAGE\ndestination:/queue/a\nmessage-id:{n}\n\nhello\0",
            )],
        ),
        lines("telnet", 23, &[("ls -l {n}\r\n", "ls -l {n}\r\nfile{n}\r\n$ "), ("x", "x")]),
        lines("syslog", 514, &[("<34>1 2026-11-22T00:00:00Z host app - - - message {n}\n", "")]),
        lines(
            "beanstalkd",
            11_300,
            &[
                ("put 0 0 60 5\r\nhello\r\n", "INSERTED {n}\r\n"),
                ("reserve\r\n", "RESERVED {n} 5\r\nhello\r\n"),
            ],
        ),
    ]
}

/// What has no name: frames behind lengths, counters, one byte again and again, random bytes.
fn nameless() -> Vec<Talk> {
    let mut all = vec![
        talk("frames behind u32", 7001, Vec::new(), &mut |n, random| {
            let protobuf = |n: usize| [8, n as u8 & 0x7f, 18, 5, b'h', b'e', b'l', b'l', b'o'];
            let body = random.bytes(n);
            (sized(4, &join(&[&protobuf(n), &body])), sized(4, &protobuf(n + 1)))
        }),
        talk("frames behind u32 with zeros", 7002, Vec::new(), &mut |n, _| {
            (sized(4, &vec![0; 10 + n]), sized(4, &[0; 12]))
        }),
        talk("counted frames behind u32", 7003, Vec::new(), &mut |n, random| {
            (
                sized(4, &join(&[&be32(n), &random.bytes(20)])),
                sized(4, &join(&[&be32(n), &random.bytes(8)])),
            )
        }),
        talk("frames behind u32, low byte first", 7004, Vec::new(), &mut |n, random| {
            (sized_le(4, &random.bytes(12 + n)), sized_le(4, &random.bytes(30)))
        }),
        talk("frames behind u16, low byte first", 7005, Vec::new(), &mut |n, random| {
            (sized_le(2, &random.bytes(12 + n)), sized_le(2, &random.bytes(30)))
        }),
        talk("long frames behind u16", 7006, Vec::new(), &mut |n, random| {
            (sized(2, &random.bytes(300 + n)), sized(2, &random.bytes(500)))
        }),
        talk("frames behind u8", 7007, Vec::new(), &mut |n, random| {
            (sized(1, &random.bytes(12 + n)), sized(1, &random.bytes(30)))
        }),
        talk("types and lengths", 7008, Vec::new(), &mut |n, random| {
            (
                join(&[&[2], &sized(2, &random.bytes(12 + n))]),
                join(&[&[3], &sized(2, &random.bytes(30))]),
            )
        }),
        talk("counters", 7009, Vec::new(), &mut |n, _| (be32(n).to_vec(), le32(n).to_vec())),
        talk("long counters", 7010, Vec::new(), &mut |n, _| {
            let count = |from: usize| (from..from + 200).flat_map(be32).collect();
            (count(n * 200), count(n * 200 + 7))
        }),
        talk("bytes that count", 7011, Vec::new(), &mut |n, _| {
            ((0..=255).collect(), (0..100_u8).map(|at| at ^ n as u8).collect())
        }),
        talk("JSON lines", 7012, Vec::new(), &mut |n, _| {
            (
                format!("{{\"id\":{n},\"method\":\"get\",\"params\":[1,2]}}\n").into_bytes(),
                format!("{{\"id\":{n},\"result\":{{\"a\":\"b\"}}}}\n").into_bytes(),
            )
        }),
        talk("text", 7013, Vec::new(), &mut |n, _| {
            let words = "the quick brown fox jumps over the lazy dog ";
            (words.repeat(1 + n % 5).into_bytes(), format!("{n} {words}\n").into_bytes())
        }),
    ];
    for byte in [0, 1, 2, 4, 0x30, 0x40, 0x55, 0xff] {
        all.push(talk("one byte again and again", 7014, Vec::new(), &mut |n, _| {
            (vec![byte; 1 + n * 7], vec![byte; 30])
        }));
    }
    for seed in 0..6 {
        let mut own = Random::new(seed);
        all.push(talk("random bytes", 7015, Vec::new(), &mut |n, _| {
            let len = 1 + own.below([10, 60, 300, 1400, 3000, 9000][seed as usize % 6]);
            (own.bytes(len + n), own.bytes(len / 2))
        }));
        all.push(udp(talk("random datagrams", 7016, Vec::new(), &mut |n, _| {
            let len = 1 + own.below([10, 60, 300, 1400, 20, 9][seed as usize % 6]);
            (own.bytes(len + n), own.bytes(len / 2))
        })));
    }
    all
}

/// Other datagrams.
fn datagrams() -> Vec<Talk> {
    vec![
        udp(talk("DNS", 53, Vec::new(), &mut |n, _| (question(n), answer(n)))),
        udp(talk("NTP", 123, Vec::new(), &mut |n, random| {
            let packet =
                |mode: u8, random: &mut Random| join(&[&[mode, 2, 6, 0xec], &random.bytes(44)]);
            let _ = n;
            (packet(0x23, random), packet(0x24, random))
        })),
        udp(talk("RTP", 5004, Vec::new(), &mut |n, random| {
            let packet = |n: usize, random: &mut Random| {
                join(&[
                    &[0x80, 0],
                    &be16(n),
                    &be32(n * 160),
                    &be32(0x1234_5678),
                    &random.bytes(160),
                ])
            };
            (packet(n, random), packet(n + 77, random))
        })),
        udp(talk("CoAP", 5683, Vec::new(), &mut |n, random| {
            (
                join(&[&[0x42, 1], &be16(n), &be16(n), b"\xb4temp"]),
                join(&[&[0x62, 0x45], &be16(n), &be16(n), b"\xff", &random.bytes(4)]),
            )
        })),
        udp(talk("TFTP", 69, Vec::new(), &mut |n, random| {
            (join(&[&[0, 4], &be16(n)]), join(&[&[0, 3], &be16(n + 1), &random.bytes(512)]))
        })),
        udp(talk("RADIUS", 1812, Vec::new(), &mut |n, random| {
            let packet = |code: u8, body: &[u8], random: &mut Random| {
                join(&[&[code, n as u8], &be16(20 + body.len()), &random.bytes(16), body])
            };
            (packet(1, b"\x01\x06root\x04\x06\x7f\0\0\x01", random), packet(2, b"", random))
        })),
        udp(talk("IKE", 4500, Vec::new(), &mut |n, random| {
            let packet = |n: usize, random: &mut Random| {
                join(&[&[0, 0, 0x12, 0x34], &be32(n), &random.bytes(80)])
            };
            (packet(n, random), packet(n, random))
        })),
        udp(talk("VXLAN", 4789, Vec::new(), &mut |_, random| {
            (join(&[&[8, 0, 0, 0, 0, 0, 5, 0], &random.bytes(70)]), Vec::new())
        })),
        snmp(),
        openvpn("OpenVPN over UDP", false, 60),
        udp(talk("DHCP", 67, Vec::new(), &mut |n, _| {
            let packet = |op: u8| {
                join(&[&[op, 1, 6, 0], &be32(n), &[0; 228], b"\x63\x82\x53\x63\x35\x01\x01\xff"])
            };
            (packet(1), packet(2))
        })),
    ]
}

/// All of them.
pub fn all() -> Vec<Talk> {
    let mut all = vec![
        modbus("Modbus", |n| n, false),
        modbus("Modbus, one transaction", |_| 1, false),
        modbus("Modbus, whose transaction is as long as a request", |_| 10, false),
        modbus("Modbus, whose requests and answers are as long as that", |_| 10, true),
        modbus("Modbus that counts far", |n| n * 257 + 4, true),
        openvpn("OpenVPN over TCP", true, 60),
        openvpn("OpenVPN over TCP, long", true, 900),
        s7(),
        rtmp(),
        talk("DNS over TCP", 53, Vec::new(), &mut |n, _| {
            (sized(2, &question(n)), sized(2, &answer(n)))
        }),
        smb(),
        bgp(),
        ldap(),
        mysql(),
        tds(),
        tns(),
        iec104(),
        dnp3(),
        enip(),
        diameter(),
        cassandra(),
        mongodb(),
        thrift(),
        dicom(),
        memcached(),
        memcached_binary(),
    ];
    all.extend(texts());
    all.extend(nameless());
    all.extend(datagrams());
    all
}
