//! A comparison as text, as Markdown, and as files for programs that watch figures over time.

mod bencher;
mod markdown;
mod otava;
mod text;
pub mod words;

pub use bencher::bencher;
pub use markdown::markdown;
pub use otava::otava;
pub use text::text;
