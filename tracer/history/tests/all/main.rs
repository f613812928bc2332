//! What holds of the past, whatever was delivered.

mod collected;
mod live;
mod memory;
mod messages;
mod muted;
mod windows;
