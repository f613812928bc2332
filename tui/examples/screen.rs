//! The screen with invented figures that change over time, to look at a change of the screen by hand:
//! `cargo run -p wirelap-tui --example screen [five|many|degraded|empty]`.

use std::sync::Arc;
use std::time::Instant;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{ScreenOptions, TuiError};

fn main() -> Result<(), TuiError> {
    let which = std::env::args().nth(1).unwrap_or_else(|| "five".into());
    let start = Instant::now();
    let mut source = || {
        let seconds = start.elapsed().as_secs();
        Arc::new(match which.as_str() {
            "many" => snapshots::many(40),
            "degraded" => snapshots::degraded(),
            "empty" => snapshots::empty(seconds),
            _ => snapshots::five(seconds + 1),
        })
    };
    let outcome = wirelap_tui::run(ScreenOptions::default(), &mut source, &|| false)?;
    println!("{outcome:?}");
    Ok(())
}
