//! Events that hosts send between windows, too.

use wirelap_events::Body;

/// True for what is known of sockets and losses, which is sent between windows, too.
pub fn is_sent_always(body: &Body<'_>) -> bool {
    matches!(body, Body::Socket(_) | Body::Closed(_) | Body::Lost(_))
}
