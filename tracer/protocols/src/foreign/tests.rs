use super::*;

fn names(packets: &[(Side, bool, &[u8])]) -> Option<String> {
    let mut observer = ForeignObserver::default();
    for &(side, starts, bytes) in packets {
        observer.packet(side, starts, bytes, 0);
    }
    observer.name().map(ToString::to_string)
}

fn first(bytes: &[u8]) -> Option<String> {
    names(&[(Side::A, true, bytes)])
}

/// Joined late: twice the same.
fn late(bytes: &[u8]) -> Option<String> {
    names(&[(Side::A, false, bytes), (Side::A, false, bytes)])
}

/// Bytes behind their length, in so many bytes.
fn sized(width: usize, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u64).to_be_bytes();
    [&len[8 - width..], body].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &sized(2, body)].concat()
}

fn hello(kind: u8, version: u16, middle: &[u8], extensions: &[u8]) -> Vec<u8> {
    let body = [&version.to_be_bytes()[..], &[7; 32], &[0], middle, &sized(2, extensions)].concat();
    let handshake = [&[kind][..], &sized(3, &body)].concat();
    [&[22, 3, 1][..], &sized(2, &handshake)].concat()
}

fn client_hello() -> Vec<u8> {
    let name = sized(2, &[&[0][..], &sized(2, b"broker.example")].concat());
    let alpn = sized(2, &sized(1, b"mqtt"));
    let extensions =
        [extension(0, &name), extension(16, &alpn), extension(43, &[2, 3, 4])].concat();
    hello(1, 0x0303, &[0, 2, 0x13, 1, 1, 0], &extensions)
}

#[test]
fn tls_tells_its_version_and_what_the_client_asked_for() {
    let server = hello(2, 0x0303, &[0x13, 1, 0], &extension(43, &[3, 4]));
    let old = hello(2, 0x0303, &[0x13, 1, 0], &[]);
    let up = client_hello();
    assert_eq!(first(&up).unwrap(), "TLS (SNI broker.example, ALPN mqtt)");
    let found = names(&[(Side::A, true, &up), (Side::B, true, &server)]);
    assert_eq!(found.unwrap(), "TLS 1.3 (SNI broker.example, ALPN mqtt)");
    assert_eq!(first(&old).unwrap(), "TLS 1.2");
    // A hello in two packets.
    let (head, tail) = up.split_at(60);
    let found = names(&[(Side::A, true, head), (Side::A, false, tail)]);
    assert_eq!(found.unwrap(), "TLS (SNI broker.example, ALPN mqtt)");
}

#[test]
fn tls_that_was_joined_late_is_told_by_its_records() {
    let record = |len: usize| [&[23, 3, 3][..], &sized(2, &vec![0xA5; len])].concat();
    assert_eq!(late(&[record(40), record(2000)].concat()).unwrap(), "TLS");
    assert_eq!(late(&record(100)).as_deref(), None, "the count goes on with more of them");
    let one = record(100);
    let packets = [(Side::A, false, &one[..]); 4];
    assert_eq!(names(&packets).unwrap(), "TLS");
    // A record over several packets.
    let long = [record(16_000), record(16_000), record(16_000), record(77)].concat();
    let packets: Vec<_> = long.chunks(1448).map(|part| (Side::A, false, part)).collect();
    assert_eq!(names(&packets).unwrap(), "TLS");
}

#[test]
fn http_and_what_it_is_upgraded_to() {
    assert_eq!(first(b"GET / HTTP/1.1\r\nHost: a.b:80\r\n\r\n").unwrap(), "HTTP 1.1 (host a.b:80)");
    assert_eq!(first(b"HTTP/1.0 200 OK\r\n\r\n").unwrap(), "HTTP 1.0");
    let upgrade = b"GET /mqtt HTTP/1.1\r\nHost: b\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Protocol: mqtt\r\n\r\n";
    assert_eq!(first(upgrade).unwrap(), "WebSocket (host b, carries mqtt)");
    // Joined late, a masked frame with a PUBLISH of mqtt in it.
    let publish = [&[0x30, 12, 0, 8][..], b"some/top", b"ab"].concat();
    let masked: Vec<u8> =
        publish.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(a, b)| a ^ b).collect();
    let frame = [&[0x82, 0x80 | 0x0e, 1, 2, 3, 4][..], &masked].concat();
    let packets = [(Side::A, false, &frame[..]); 6];
    assert_eq!(names(&packets).unwrap(), "WebSocket (carries mqtt)");
    assert_eq!(first(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap(), "HTTP/2");
    let message = [&[0][..], &sized(4, b"protobuf")].concat();
    let data = [&sized(3, &message)[..3], &[0, 1, 0, 0, 0, 1], &message].concat();
    assert_eq!(late(&data).unwrap(), "HTTP/2 (carries grpc)");
}

#[test]
fn queues_and_databases() {
    assert_eq!(first(b"AMQP\x01\x01\0\x09").unwrap(), "AMQP 0-9");
    assert_eq!(first(b"AMQP\x03\x01\0\0").unwrap(), "AMQP 1.0");
    assert_eq!(late(b"\0\0\0\x10\x02\0\0\0\0\x53\x18\x45\0\0\0\0").unwrap(), "AMQP 1.0");
    assert_eq!(late(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n").unwrap(), "Redis");
    assert_eq!(late(b"$5\r\nhello\r\n").unwrap(), "Redis");
    let startup = sized(4, b"");
    assert_eq!(startup, [0; 4]);
    assert_eq!(first(b"\0\0\0\x1a\0\x03\0\0user\0me\0database\0x\0\0").unwrap(), "PostgreSQL");
    assert_eq!(late(b"Q\0\0\0\x0eselect 1;\0").unwrap(), "PostgreSQL");
    assert_eq!(late(b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I").unwrap(), "PostgreSQL");
    let wrapped =
        names(&[(Side::A, true, b"\0\0\0\x08\x04\xd2\x16\x2f"), (Side::A, false, &client_hello())]);
    assert_eq!(wrapped.unwrap(), "PostgreSQL over TLS (SNI broker.example, ALPN mqtt)");
    let properties = b"\0\x11\0\x01\0\0\0\0\0\0\0\x01\0\x07product\0\x08RabbitMQ";
    assert_eq!(first(&sized(4, properties)).unwrap(), "RabbitMQ streams");
    let answer = b"\x80\x11\0\x01\0\0\0\0\0\x01\0\0\0\x01\0\x07version\0\x054.1.0";
    assert_eq!(first(&sized(4, answer)).unwrap(), "RabbitMQ streams");
    assert_eq!(first(&sized(4, &properties[..properties.len() - 1])), None);
    assert_eq!(first(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap(), "SSH 2.0");
    let read = b"\0\x07\0\0\0\x06\x01\x03\0\0\0\x02";
    assert_eq!(late(&[&read[..], read].concat()).unwrap(), "Modbus");
    assert_eq!(late(b"\0\x07\0\0\0\x06\x01\x03\0\0"), None, "its end is missing");
    assert_eq!(late(b"\x03\0\0\x07\x02\xf0\x80").unwrap(), "TPKT");
    let reset = b"\0\x0e\x38abcdefgh\0\0\0\0\0";
    assert_eq!((first(reset).unwrap(), late(reset)), ("OpenVPN".into(), None));
    let control = |n: u8| [&b"\0\x11\x20abcdefgh\0\0\0\0"[..], &[n], b"TLS"].concat();
    let counted: Vec<_> = (1..4).map(control).collect();
    let packets: Vec<_> = counted.iter().map(|bytes| (Side::A, false, &bytes[..])).collect();
    assert_eq!(names(&packets).unwrap(), "OpenVPN");
    let data = |n: u8| [&b"\0\x0c\x48\0\0\x01\0\0\0"[..], &[n], b"rest"].concat();
    let counted: Vec<_> = (7..10).map(data).collect();
    let packets: Vec<_> = counted.iter().map(|bytes| (Side::A, false, &bytes[..])).collect();
    assert_eq!(names(&packets).unwrap(), "OpenVPN");
    assert_eq!(late(&data(7)), None, "it does not count up");
    assert_eq!(late(b"\x03\0\0\x07\x02\x30\x80"), None, "no TPDU is of that kind");
}

/// Short frames of ZMTP: a length in two bytes, a number that counts up, small numbers.
#[test]
fn numbers_in_short_frames_are_no_tunnel() {
    for (first, step) in [(0, 1), (250, 1), (0x1_0001, 1), (8, 256), (0x38, 0)] {
        for fields in [[1, 2, 3, 4], [0, 0, 0, 1], [1, 0, 0, 0], [0; 4]] {
            let frame = |n: u64| {
                let small = fields.iter().flat_map(|field: &u64| field.to_le_bytes());
                let number = (first + n * step).to_le_bytes();
                [vec![0, 40], number.to_vec(), small.collect()].concat()
            };
            let frames: Vec<_> = (0..600).map(frame).collect();
            let packets: Vec<_> = frames.iter().map(|bytes| (Side::A, false, &bytes[..])).collect();
            assert_eq!(names(&packets), None, "{first} {step} {fields:?}");
        }
    }
}

#[test]
fn stomp_and_the_scalability_protocols() {
    assert_eq!(first(b"CONNECT\naccept-version:1.2\nhost:/\n\n\0").unwrap(), "STOMP");
    assert_eq!(first(b"CONNECTED\r\nversion:1.2\r\n\r\n\0\n").unwrap(), "STOMP 1.2");
    let send = b"SEND\ndestination:/queue/a\ncontent-length:5\n\nhello\0";
    assert_eq!(late(send).unwrap(), "STOMP");
    let message = b"\n\nMESSAGE\nsubscription:0\nmessage-id:7\ndestination:/queue/a\n\nhello\0";
    assert_eq!(late(message).unwrap(), "STOMP");
    assert_eq!(first(b"\0SP\0\0\x20\0\0").unwrap(), "SP (nng, nanomsg)");
    for other in [
        &b"SEND\nhello there\n"[..],
        b"MESSAGE\nto:you\n\n",
        b"CONNECT\n",
        b"CONNECT {\"verbose\":false}\r\n",
        b"CONNECT a.b:443 HTTP/1.1\r\n\r\n",
        b"\0SP\0\0\0\0\0",
    ] {
        let names = [first(other), late(other)];
        let is_told = |name: &String| name.starts_with("STOMP") || name.starts_with("SP");
        assert!(!names.iter().flatten().any(is_told), "{other:?}: {names:?}");
    }
}

#[test]
fn datagrams() {
    let found = |bytes: &[u8]| datagram(bytes).map(|name| name.to_string());
    assert_eq!(found(b"\xc3\0\0\0\x01\x04abcd\0rest").unwrap(), "QUIC 1");
    assert_eq!(found(b"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x02ab").unwrap(), "DTLS 1.2");
    let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x01\0\x01";
    assert_eq!(found(query).unwrap(), "DNS");
    let name = b"EBEDEBEEEBFENFJDADECACACACACACAA";
    let registers =
        [&b"\x86\xa9\x29\x10\0\x01\0\0\0\0\0\x01\x20"[..], name, b"\0\0\x20\0\x01"].concat();
    assert_eq!(found(&registers).unwrap(), "NetBIOS");
    assert_eq!(found(b"RTPS\x02\x01\x01\x10"), None);
}

#[test]
fn what_is_decoded_has_no_foreign_name() {
    for bytes in [
        &b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04abcd"[..],
        b"\x30\x0c\0\x08some/topab",
        b"PUB a.b 5\r\nhello\r\n",
        b"PING\r\n",
        b"+OK\r\n",
        b"INFO {\"server_id\":\"x\"}\r\n",
        b"\x01\x0dwirelap/bench\0\x02ab",
        b"\0\0\0\x15\0\x12\0\0\0\0\0\x01\0\x05maker",
        b"MSGF\x20\0\0\0\x01\0\0\0\x01\0\0\0\x02\0\0\0\x02\0\0\0",
    ] {
        for packets in [&[(Side::A, true, bytes)][..], &[(Side::A, false, bytes); 3]] {
            assert_eq!(names(packets), None, "{bytes:?}");
        }
    }
}
