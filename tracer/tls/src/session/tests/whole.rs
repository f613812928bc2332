//! Connections of which everything was seen.

use super::*;

#[test]
fn text_is_read_in_both_directions() {
    for made in all() {
        let mut reader = made.begin();
        reader.feed(TlsRole::Client, &made.keys[0].seal(made.next, 23, b"question"));
        let answer = made.keys[1].seal(made.next, 23, b"answer");
        answer.chunks(3).for_each(|bytes| reader.feed(TlsRole::Server, bytes));
        reader.feed(TlsRole::Client, &made.keys[0].seal(made.next + 1, 23, b""));
        assert_eq!(reader.of(TlsRole::Client), [text(b"question"), text(b"")]);
        assert_eq!(reader.of(TlsRole::Server), [text(b"answer")]);
    }
}

/// RFC 8448 §3. The hello messages have only what is read of them; the server's certificate is left out.
#[test]
fn the_trace_of_the_standard_is_read() {
    let bytes = |digits: &str| -> Vec<u8> {
        let digits: Vec<char> = digits.chars().filter(|char| !char.is_whitespace()).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap())
            .collect()
    };
    let random = bytes("cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7");
    let random: Random = random.try_into().unwrap();
    let secrets = [
        (
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
        ),
        (
            "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
        ),
        (
            "CLIENT_TRAFFIC_SECRET_0",
            "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
        ),
        (
            "SERVER_TRAFFIC_SECRET_0",
            "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
        ),
    ];
    let lines: Vec<_> = secrets.map(|(label, secret)| (label, random, bytes(secret))).into();
    let mut reader = Reader::new(log(&lines), random);
    reader.feed(TlsRole::Client, &record(22, &client_hello(random)));
    reader.feed(TlsRole::Server, &record(22, &server_hello(SERVER, 0x1301, TLS13_EXTENSION)));
    let finished = "17 03 03 00 35 75 ec 4d c2 38 cc e6 0b 29 80 44 a7 1e 21 9c 56 cc 77 b0 51 7f e9 b9 3c 7a 4b fc
        44 d8 7f 38 f8 03 38 ac 98 fc 46 de b3 84 bd 1c ae ac ab 68 67 d7 26 c4 05 46";
    reader.feed(TlsRole::Client, &bytes(finished));
    let ticket = "17 03 03 00 de 3a 6b 8f 90 41 4a 97 d6 95 9c 34 87 68 0d e5 13 4a 2b 24 0e 6c ff ac 11 6e 95 d4 1d
        6a f8 f6 b5 80 dc f3 d1 1d 63 c7 58 db 28 9a 01 59 40 25 2f 55 71 3e 06 1d c1 3e 07 88 91 a3 8e fb cf 57
        53 ad 8e f1 70 ad 3c 73 53 d1 6d 9d a7 73 b9 ca 7f 2b 9f a1 b6 c0 d4 a3 d0 3f 75 e0 9c 30 ba 1e 62 97 2a
        c4 6f 75 f7 b9 81 be 63 43 9b 29 99 ce 13 06 46 15 13 98 91 d5 e4 c5 b4 06 f1 6e 3f c1 81 a7 7c a4 75 84
        00 25 db 2f 0a 77 f8 1b 5a b0 5b 94 c0 13 46 75 5f 69 23 2c 86 51 9d 86 cb ee ac 87 aa c3 47 d1 43 f9 60
        5d 64 f6 50 db 4d 02 3e 70 e9 52 ca 49 fe 51 37 12 1c 74 bc 26 97 68 7e 24 87 46 d6 df 35 30 05 f3 bc e1
        86 96 12 9c 81 53 55 6b 3b 6c 67 79 b3 7b f1 59 85 68 4f";
    reader.feed(TlsRole::Server, &bytes(ticket));
    let question = "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab 3f 2b
        98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6 3a ee bb 21
        69 49 15 e4";
    let answer = "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa 1b 36 e3
        0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 32 54 0d d0 32 e1
        67 c2 95 5d";
    reader.feed(TlsRole::Client, &bytes(question));
    reader.feed(TlsRole::Server, &bytes(answer));
    let alerts = [
        "17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3",
        "17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9",
    ];
    reader.feed(TlsRole::Client, &bytes(alerts[0]));
    reader.feed(TlsRole::Server, &bytes(alerts[1]));
    let payload: Vec<u8> = (0..50).collect();
    let all = [TlsRole::Client, TlsRole::Server].map(|role| (role, text(&payload)));
    assert_eq!(reader.out, all, "nothing that is not read, either");
    let opened = |role: TlsRole| reader.session.directions[role as usize].records.opened;
    assert_eq!([opened(TlsRole::Client), opened(TlsRole::Server)], [3, 3]);
}

#[test]
fn keys_are_updated_any_number_of_times() {
    let made = tls13(0x1302);
    let suite = Suite::of_tls13(0x1302).unwrap();
    let mut reader = made.begin();
    let mut secret = secret(suite, 3);
    for round in 0..5_u8 {
        let key = schedule::tls13_key(suite, &secret).unwrap();
        reader.feed(TlsRole::Client, &key.seal(0, 23, &[round; 8]));
        let update = key.seal(1, 22, &message(24, &[0]));
        // That the key changes need not be seen.
        if round == 2 {
            reader.gap(TlsRole::Client, update.len());
        } else {
            reader.feed(TlsRole::Client, &update);
        }
        secret = schedule::updated(suite, &secret).unwrap();
    }
    let mut texts = reader.of(TlsRole::Client);
    texts.retain(|out| matches!(out, Out::Text(_)));
    assert_eq!(texts, (0..5).map(|round| text(&[round; 8])).collect::<Vec<_>>());
}

#[test]
fn a_second_handshake_has_keys_of_its_own() {
    let mut made = tls12(0xC02F, MacOrder::MacThenEncrypt);
    let again: Random = [0xC2; 32];
    let lines = [("CLIENT_RANDOM", CLIENT, vec![7; 48]), ("CLIENT_RANDOM", again, vec![8; 48])];
    made.log = log(&lines);
    let mut reader = made.begin();
    let master = Secret::new(&[8; 48]).unwrap();
    let suite = Suite::of_tls12(0xC030).unwrap();
    let order = MacOrder::MacThenEncrypt;
    let new = schedule::tls12_keys(suite, order, &master, &again, &[6; 32]);
    let [client, server] = &made.keys;
    reader.feed(TlsRole::Client, &client.seal(1, 22, &client_hello(again)));
    reader.feed(TlsRole::Server, &server.seal(1, 22, &server_hello([6; 32], 0xC030, NO_EXTENSION)));
    for (role, old, new) in [(TlsRole::Client, client, &new[0]), (TlsRole::Server, server, &new[1])]
    {
        reader.feed(role, &old.seal(2, 20, &[1]));
        reader.feed(role, &new.seal(0, 22, &message(20, &[9; 12])));
        reader.feed(role, &new.seal(1, 23, b"new"));
        assert_eq!(reader.of(role), [text(b"new")]);
    }
}
