//! Properties of the past that hold whatever was delivered.

mod collected;
mod live;
mod memory;
mod messages;
mod muted;
mod windows;
