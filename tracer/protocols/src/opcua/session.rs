//! The name that a client gives its session (OPC 10000-4 §5.7.2).
//!
//! ```text
//! CreateSessionRequest  header · client description · server URI · endpoint URL · session name · …
//! client description    application URI · product URI · name (LocalizedText) · type u32 ·
//!                       gateway URI · discovery profile URI · discovery URLs
//! ```

use super::fields::{FieldError, OpcuaFields};
use super::walk::request_header;

/// The name of the session in a `CreateSessionRequest`, after its type.
pub(super) fn session_name<'a>(fields: &mut OpcuaFields<'a>) -> Result<&'a [u8], FieldError> {
    request_header(fields)?;
    fields.text()?;
    fields.text()?;
    localized_text(fields)?;
    fields.skip(4)?;
    fields.text()?;
    fields.text()?;
    for _ in 0..fields.len()? {
        fields.text()?;
    }
    fields.text()?;
    fields.text()?;
    fields.text()
}

/// Skips a `LocalizedText`: a mask, then locale and text as it says (OPC 10000-6 §5.2.2.14).
fn localized_text(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    let mask = fields.u8()?;
    for flag in [1, 2] {
        if mask & flag != 0 {
            fields.text()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn the_name_comes_after_the_client_and_the_server() {
        let null = [0xFF; 4];
        let header = [&[0, 0][..], &[0; 16], &null, &[0; 4], &[0, 0, 0]].concat();
        let about =
            [text("urn:app"), text("urn:product"), vec![3], text("en"), text("App")].concat();
        let rest = [&[1, 0, 0, 0][..], &null, &null, &[1, 0, 0, 0], &text("opc.tcp://c")].concat();
        let server = [&null[..], &text("opc.tcp://s:4840"), &text("Session1")].concat();
        let body = [header, about, rest, server].concat();
        let read = |bytes: &[u8]| {
            let mut fields = OpcuaFields::new(bytes, 0, 10_000, 0).unwrap();
            session_name(&mut fields).map(<[u8]>::to_vec)
        };
        assert_eq!(read(&body).unwrap(), b"Session1");
        for end in 0..body.len() {
            assert_eq!(read(&body[..end]), Err(FieldError::Short));
        }
    }
}
