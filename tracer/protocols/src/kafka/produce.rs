//! Recognition of the body of a Produce request.

use super::apis::ApiCall;
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};
use super::layout::BodyLayout;
use super::topic_name::is_name;
use super::walk::BodyWalk;

/// Tells whether the body of a Produce request is valid; `false` if its version is not decoded.
pub(super) fn produces(call: ApiCall, body: KafkaFields<'_>) -> KafkaResult<bool> {
    if call.version < 3 {
        return older_produce(body).map(|()| true).or_else(|fault| match fault {
            KafkaFieldError::Malformed => Ok(false),
            KafkaFieldError::Short(_) => Err(fault),
        });
    }
    let Some(layout) = BodyLayout::of(call) else { return Ok(false) };
    let mut walk = BodyWalk::new(layout, body.left());
    walk.next(body.peek_up_to(body.left())).map(|_| true)
}

/// Checks the body of a Produce request before version 3, which has no transaction, up to the first topic, because zeros
/// alone look like its header.
fn older_produce(mut fields: KafkaFields<'_>) -> KafkaResult<()> {
    ensure((-1..=1).contains(&fields.i16()?) && fields.i32()? >= 0)?;
    ensure(fields.count()? > 0 && fields.string()?.is_some_and(is_name))
}
