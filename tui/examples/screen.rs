//! The screen with invented figures that change over time, to look at a change of the screen by hand:
//! `cargo run -p wirelap-tui --example screen [five|many|degraded|empty]`.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made-up figures")]

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::time::Instant;
use wirelap_tui::{Options, TuiError};

fn main() -> Result<(), TuiError> {
    let which = std::env::args().nth(1).unwrap_or_else(|| "five".into());
    let start = Instant::now();
    let mut source = || {
        let seconds = start.elapsed().as_secs();
        synthetic::shared(match which.as_str() {
            "many" => synthetic::many(40),
            "degraded" => synthetic::degraded(),
            "empty" => synthetic::empty(seconds),
            _ => synthetic::five(seconds + 1),
        })
    };
    let outcome = wirelap_tui::run(Options::default(), &mut source, &|| false)?;
    println!("{outcome:?}");
    Ok(())
}
