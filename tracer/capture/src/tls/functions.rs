//! The functions of libraries that TLS is written and read with, and the programs that attach to them.

/// A function that text passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsFunction {
    /// As a C function: the library's connection, the text, its length.
    WriteC,
    /// As a method of Go: the connection, the text, its length.
    WriteGo,
    /// As a C function: the connection, the buffer, its length. The length of the text is returned.
    ReadC,
    /// The same with a fourth argument, where the length of the text will stand.
    ReadExC,
    /// As a method of Go: the connection, the buffer, its length. The length of the text is returned.
    ReadGo,
}

/// OpenSSL and its forks, `GnuTLS`, Go.
const NAMES: [(&[u8], TlsFunction); 9] = [
    (b"SSL_write", TlsFunction::WriteC),
    (b"SSL_write_ex", TlsFunction::WriteC),
    (b"gnutls_record_send", TlsFunction::WriteC),
    (b"crypto/tls.(*Conn).Write", TlsFunction::WriteGo),
    (b"SSL_read", TlsFunction::ReadC),
    (b"SSL_read_ex", TlsFunction::ReadExC),
    (b"gnutls_record_recv", TlsFunction::ReadC),
    (b"gnutls_record_recv_seq", TlsFunction::ReadC),
    (b"crypto/tls.(*Conn).Read", TlsFunction::ReadGo),
];

impl TlsFunction {
    /// The function with this symbol.
    pub fn named(symbol: &[u8]) -> Option<TlsFunction> {
        NAMES.iter().find(|(name, _)| *name == symbol).map(|&(_, function)| function)
    }

    /// The program for its entry.
    pub const fn at_entry(self) -> &'static str {
        match self {
            TlsFunction::WriteC => "tls_write_c",
            TlsFunction::WriteGo => "tls_write_go",
            TlsFunction::ReadC => "tls_read_c",
            TlsFunction::ReadExC => "tls_read_ex_c",
            TlsFunction::ReadGo => "tls_read_go",
        }
    }

    /// The program for its returns; `None` if they tell nothing.
    pub const fn at_return(self) -> Option<&'static str> {
        match self {
            TlsFunction::WriteC | TlsFunction::WriteGo => None,
            TlsFunction::ReadC | TlsFunction::ReadExC => Some("tls_read_done_c"),
            TlsFunction::ReadGo => Some("tls_read_done_go"),
        }
    }
}

/// All programs.
pub const PROGRAMS: [&str; 7] = [
    "tls_write_c",
    "tls_write_go",
    "tls_read_c",
    "tls_read_ex_c",
    "tls_read_done_c",
    "tls_read_go",
    "tls_read_done_go",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_its_programs() {
        for (_, function) in NAMES {
            assert!(PROGRAMS.contains(&function.at_entry()));
            assert!(function.at_return().is_none_or(|name| PROGRAMS.contains(&name)));
        }
        assert_eq!(TlsFunction::named(b"SSL_read_ex"), Some(TlsFunction::ReadExC));
        assert_eq!(TlsFunction::named(b"SSL_reader"), None);
    }
}
