//! The functions of libraries that TLS is written and read with, and the programs that attach to them.

use memchr::memmem;

/// A function that text passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsFunction {
    /// As a C function: the library's connection, the text, its length.
    WriteC,
    /// As a method of Go: the connection, the text, its length.
    WriteGo,
    /// As a method in Rust: the writer, the text, its length. The length that was taken is returned.
    WriteRust,
    /// The same with parts of the text, and their number.
    WritePartsRust,
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

/// rustls, behind `rustls::conn::` and the modules that some versions have besides. Writers only hand on what they are given.
const RUSTLS_NAMES: [(&str, TlsFunction); 2] = [
    ("PlaintextSink>::write", TlsFunction::WriteRust),
    ("PlaintextSink>::write_vectored", TlsFunction::WritePartsRust),
];

impl TlsFunction {
    /// The function with this symbol.
    pub fn named(symbol: &[u8]) -> Option<TlsFunction> {
        let named = NAMES.iter().find(|(name, _)| *name == symbol).map(|&(_, function)| function);
        named.or_else(|| TlsFunction::of_rustls(symbol))
    }

    /// The function of rustls with this symbol, in the older or the newer encoding.
    fn of_rustls(symbol: &[u8]) -> Option<TlsFunction> {
        memmem::find(symbol, b"rustls")?;
        let symbol = str::from_utf8(symbol).ok()?;
        // Without its hash, and the number of its crate.
        let name = format!("{:#}", rustc_demangle::try_demangle(symbol).ok()?).replace("<'_>", "");
        let connection = name.strip_prefix("<rustls::conn::ConnectionCommon<")?;
        // The type that the connection is of is left out.
        let inside = connection.split_once("> as rustls::conn::")?.1;
        let inside = inside.strip_prefix("connection::").unwrap_or(inside);
        RUSTLS_NAMES.iter().find(|(name, _)| *name == inside).map(|&(_, function)| function)
    }

    /// True if the function is of rustls.
    pub const fn is_of_rustls(self) -> bool {
        match self {
            TlsFunction::WriteRust | TlsFunction::WritePartsRust => true,
            TlsFunction::WriteC
            | TlsFunction::WriteGo
            | TlsFunction::ReadC
            | TlsFunction::ReadExC
            | TlsFunction::ReadGo => false,
        }
    }

    /// The program for its entry.
    pub const fn at_entry(self) -> &'static str {
        match self {
            TlsFunction::WriteC => "tls_write_c",
            TlsFunction::WriteGo => "tls_write_go",
            TlsFunction::WriteRust => "tls_write_rust",
            TlsFunction::WritePartsRust => "tls_write_parts_rust",
            TlsFunction::ReadC => "tls_read_c",
            TlsFunction::ReadExC => "tls_read_ex_c",
            TlsFunction::ReadGo => "tls_read_go",
        }
    }

    /// The program for its returns; `None` if they tell nothing.
    pub const fn at_return(self) -> Option<&'static str> {
        match self {
            TlsFunction::WriteC | TlsFunction::WriteGo => None,
            TlsFunction::WriteRust | TlsFunction::WritePartsRust => Some("tls_write_done_rust"),
            TlsFunction::ReadC | TlsFunction::ReadExC => Some("tls_read_done_c"),
            TlsFunction::ReadGo => Some("tls_read_done_go"),
        }
    }
}

/// All programs.
pub const PROGRAMS: [&str; 10] = [
    "tls_write_c",
    "tls_write_go",
    "tls_write_rust",
    "tls_write_parts_rust",
    "tls_write_done_rust",
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
        let of_rustls = RUSTLS_NAMES.iter().map(|&(_, function)| function);
        for function in NAMES.iter().map(|&(_, function)| function).chain(of_rustls) {
            assert!(PROGRAMS.contains(&function.at_entry()));
            assert!(function.at_return().is_none_or(|name| PROGRAMS.contains(&name)));
        }
        assert_eq!(TlsFunction::named(b"SSL_read_ex"), Some(TlsFunction::ReadExC));
        assert_eq!(TlsFunction::named(b"SSL_reader"), None);
    }

    #[test]
    fn functions_of_rustls_are_known_in_both_encodings() {
        for (symbol, function) in [
            (
                &b"_ZN99_$LT$rustls..conn..ConnectionCommon$LT$T$GT$$u20$as$u20$rustls..conn..connection..PlaintextSink$GT$5write17h4c019b848d1e1283E"[..],
                Some(TlsFunction::WriteRust),
            ),
            // Version 0.21, and the newer encoding.
            (
                b"_ZN87_$LT$rustls..conn..ConnectionCommon$LT$T$GT$$u20$as$u20$rustls..conn..PlaintextSink$GT$14write_vectored17h4c019b848d1e1283E",
                Some(TlsFunction::WritePartsRust),
            ),
            (
                b"_RNvXs_NtCs1234_6rustls4connINtB4_16ConnectionCommonNtB4_4SideENtNtB4_10connection13PlaintextSink5write",
                Some(TlsFunction::WriteRust),
            ),
            (
                b"_ZN67_$LT$rustls..conn..connection..Writer$u20$as$u20$std..io..Write$GT$5write17ha44f5d84f13aaea8E",
                None,
            ),
            (b"_ZN6rustls5other4read17h339e14ca0865097cE", None),
            (b"rustls_connection_write", None),
            (b"_ZN6rustls\xff", None),
        ] {
            let text = String::from_utf8_lossy(symbol);
            assert_eq!(TlsFunction::named(symbol), function, "{text}");
            assert!(function.is_none_or(TlsFunction::is_of_rustls), "{text}");
        }
    }
}
