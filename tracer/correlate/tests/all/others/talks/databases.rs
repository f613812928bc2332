//! Conversations with databases and caches.

use super::{Talk, be16, be32, join, le32, sized, talk};

/// `MySQL`: a length of three bytes, low byte first, and a number.
pub fn mysql() -> Talk {
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
pub fn tds() -> Talk {
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
pub fn tns() -> Talk {
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

/// Cassandra's native protocol, version 4.
pub fn cassandra() -> Talk {
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

pub fn mongodb() -> Talk {
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

pub fn memcached() -> Talk {
    talk("memcached", 11_211, Vec::new(), &mut |n, _| {
        (
            format!("get key{n}\r\n").into_bytes(),
            format!("VALUE key{n} 0 10\r\n0123456789\r\nEND\r\n").into_bytes(),
        )
    })
}

/// memcached's binary protocol.
pub fn memcached_binary() -> Talk {
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
