//! The name in a client's `connection.start-ok` (AMQP 0-9-1 §4.2.5.5).
//!
//! ```text
//! client-properties  | u32 length | ( name · type u8 · value )* |    then mechanism, response, locale
//! ```

use super::table::find;
use crate::Reader;

/// The property with the name that clients give a connection.
const CONNECTION_NAME: &[u8] = b"connection_name";

/// The name of the connection in the arguments of `connection.start-ok`, if there is one.
pub(super) fn connection_name(arguments: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(arguments);
    let len = usize::try_from(reader.u32_be()?).ok()?;
    find(reader.sub_up_to(len), CONNECTION_NAME, b'S')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(fields: &[u8]) -> Vec<u8> {
        let len = u32::try_from(fields.len()).unwrap();
        [&len.to_be_bytes()[..], fields, b"\x05PLAIN\0\0\0\0\x05en_US"].concat()
    }

    #[test]
    fn the_name_is_found_behind_fields_of_every_type() {
        let fields = b"\x07productS\0\0\0\x04Pika\x0ccapabilitiesF\0\0\0\x04\x01at\x01\
            \x01bt\x01\x01cs\0\x07\x01dI\0\0\0\x07\x01el12345678\x01fV\x01gD\x0212345\x0fconnection_nameS\0\0\0\x06worker\
            \x01zt\0";
        let broken = table(fields);
        assert_eq!(connection_name(&broken), None, "a decimal has five bytes");
        let fields = b"\x07productS\0\0\0\x04Pika\x0ccapabilitiesF\0\0\0\x04\x01at\x01\
            \x01bt\x01\x01cs\0\x07\x01dI\0\0\0\x07\x01el12345678\x01fV\x01gD\x021234\x0fconnection_nameS\0\0\0\x06worker\
            \x01zt\0";
        let whole = table(fields);
        assert_eq!(connection_name(&whole), Some(&b"worker"[..]));
        for end in 0..whole.len() - 30 {
            assert_eq!(connection_name(&whole[..end]), None);
        }
    }

    #[test]
    fn a_client_without_a_name_has_none() {
        assert_eq!(connection_name(&table(b"\x07productS\0\0\0\x04Pika")), None);
        assert_eq!(connection_name(&table(b"")), None);
        assert_eq!(connection_name(&table(b"\x0fconnection_namet\x01")), None);
        assert_eq!(connection_name(&table(b"\x01a?1234\x0fconnection_nameS\0\0\0\x01x")), None);
    }
}
