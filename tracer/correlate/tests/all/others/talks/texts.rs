//! Lines of text in both directions.

use super::{Talk, talk};

/// Lines of text in both directions.
fn lines(name: &'static str, port: u16, lines: &'static [(&'static str, &'static str)]) -> Talk {
    talk(name, port, Vec::new(), &mut |n, _| {
        let (up, down) = lines[n % lines.len()];
        let number = n.to_string();
        (up.replace("{n}", &number).into_bytes(), down.replace("{n}", &number).into_bytes())
    })
}

pub fn texts() -> Vec<Talk> {
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
