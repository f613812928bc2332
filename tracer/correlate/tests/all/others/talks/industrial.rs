//! Conversations of controllers in factories and substations.

use super::{Talk, be16, join, le16, le32, sized, sized_le, talk};

/// Modbus/TCP: transaction, protocol 0, length, unit, function.
pub fn modbus(name: &'static str, transaction: fn(usize) -> usize, write: bool) -> Talk {
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

/// S7comm over TPKT and COTP.
pub fn s7() -> Talk {
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

pub fn iec104() -> Talk {
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

pub fn dnp3() -> Talk {
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

pub fn enip() -> Talk {
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

/// DICOM: an association, then data.
pub fn dicom() -> Talk {
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
