//! Settings of the screen that are remembered from one start to the next.

use super::LiveArgs;
use wirelap_process::{Outputs, RememberedText};

/// The name of the file, in the folder `wirelap` of the user's state.
const NAME: &str = "screen.toml";

/// The file of what the screen remembers, if there is one.
#[derive(Debug)]
pub struct ScreenMemory(Option<RememberedText>);

impl ScreenMemory {
    /// Looks the file up, and lets it be replaced at the end, unless the options say otherwise. Must be called before rights are
    /// given up. A file that cannot be read or written is no failure: the screen is as usual then.
    pub fn of(args: &LiveArgs, outputs: &Outputs) -> ScreenMemory {
        if args.no_state || !args.shows_screen() {
            return ScreenMemory(None);
        }
        // With --watch-only, no process has the rights to write a file later.
        let outputs = (!args.watch_only).then_some(outputs);
        ScreenMemory(RememberedText::open(NAME, outputs).ok())
    }

    /// Returns the remembered text; `None` if there is none.
    pub fn text(&self) -> Option<String> {
        self.0.as_ref()?.text().map(str::to_owned)
    }

    /// Remembers a text. An error is ignored: the screen is gone by now, and nothing of what was measured depends on it.
    pub fn keep(&mut self, text: &str) {
        if let Some(memory) = &mut self.0 {
            let _ = memory.keep(text);
        }
    }
}
