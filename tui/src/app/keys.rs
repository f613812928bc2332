//! The keys: one table, from which the footer, the help and the command palette are made.

use super::command::{Motion, ReplayControl, ScreenCommand};
use super::{App, View};
use crossterm::event::KeyCode;

/// A command, the keys that give it, and where they do.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys; none if only the command palette has the command.
    pub keys: &'static [KeyCode],
    /// The keys in the help and the footer.
    pub shown: &'static str,
    /// The command that the keys give.
    pub command: ScreenCommand,
    /// The views in which the keys have a meaning.
    pub scope: Scope,
    /// The command in words, for the help and the command palette.
    pub words: &'static str,
    /// The command in a word for the footer; empty if the footer does not have it.
    pub short: &'static str,
}

/// The part of the screen in which a binding has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Everywhere,
    /// In these views. It is asked before the bindings that hold everywhere.
    In(&'static [View]),
    /// While files are replayed. It is asked before all others.
    Replay,
}

impl Scope {
    fn holds(self, app: &App) -> bool {
        match self {
            Scope::Everywhere => true,
            Scope::In(views) => views.contains(&app.view()),
            Scope::Replay => app.is_replay(),
        }
    }

    /// The narrower scope is asked first.
    const fn rank(self) -> u8 {
        match self {
            Scope::Replay => 0,
            Scope::In(_) => 1,
            Scope::Everywhere => 2,
        }
    }
}

const fn binding(
    keys: &'static [KeyCode],
    shown: &'static str,
    command: ScreenCommand,
    scope: Scope,
    (short, words): (&'static str, &'static str),
) -> Binding {
    Binding { keys, shown, command, scope, words, short }
}

/// The views that show rows in a table.
const ROWS: &[View] = &[View::Overview];
/// The views whose rows can be sorted.
const SORTED: &[View] = &[View::Overview, View::ByName];
/// The view of rows by name.
const BY_NAME: &[View] = &[View::ByName];
/// The views of single messages.
const MESSAGES: &[View] = &[View::Messages];
/// The views of which a small screen shows a part.
const PARTS: &[View] = &[View::Distribution, View::Compare];

use KeyCode::{BackTab, Char, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp};
use KeyCode::{Right, Tab, Up};
use Scope::{Everywhere, In, Replay};
use ScreenCommand as C;

/// All bindings; those that the footer shows, in the order of their importance.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    binding(&[Char('q')], "q", C::Quit, Everywhere, ("quit", "quit; Esc closes what is open first")),
    binding(&[Char('?'), Char('h'), F(1)], "?", C::Help, Everywhere, ("help", "this help")),
    binding(&[Char(' '), Char('p')], "space", C::Replay(ReplayControl::PlayPause), Replay, ("play", "replay: play or pause; at the end, from the beginning")),
    binding(&[Char(']'), Right], "] →", C::Replay(ReplayControl::Forward), Replay, ("seek", "replay: forward by a fiftieth")),
    binding(&[Char('['), Left], "[ ←", C::Replay(ReplayControl::Back), Replay, ("", "replay: back by a fiftieth")),
    binding(&[Char('{')], "{", C::Replay(ReplayControl::Start), Replay, ("", "replay: to the beginning")),
    binding(&[Char('}')], "}", C::Replay(ReplayControl::End), Replay, ("", "replay: to the end")),
    binding(&[Char('+'), Char('=')], "+", C::Replay(ReplayControl::Faster), Replay, ("", "replay: twice as fast")),
    binding(&[Char('-')], "-", C::Replay(ReplayControl::Slower), Replay, ("", "replay: half as fast")),
    binding(&[Char('!')], "!", C::Replay(ReplayControl::Worst), Replay, ("worst", "replay: to just after the slowest message")),
    binding(&[Char('n')], "n", C::NextList, In(MESSAGES), ("list", "messages: slowest, latest, undelivered, others; in a message: its next leg")),
    binding(&[Char('n')], "n", C::NextPlot, In(PARTS), ("next", "the next plot, or the next of the compared rows")),
    binding(&[Char(',')], ",", C::EarlierMessage, In(MESSAGES), ("", "the previous message on the same connection")),
    binding(&[Char('.')], ".", C::LaterMessage, In(MESSAGES), ("next", "the next message on the same connection")),
    binding(&[Char('e')], "e", C::Export, In(MESSAGES), ("export", "write the message and its packets to a pcapng file")),
    binding(&[Char('y')], "y", C::CopyFilter, In(MESSAGES), ("copy", "copy the message's Wireshark display filter")),
    binding(&[Char('g')], "g", C::Grouping, In(BY_NAME), ("group", "what rows by name are told apart by: topic, client, process …, also nested")),
    binding(&[Enter], "⏎", C::Open, Everywhere, ("open", "more about what is selected, and back")),
    binding(&[Tab], "Tab", C::NextView, Everywhere, ("views", "the next view; the digits 1 to 9 and 0, and g, show one directly")),
    binding(&[BackTab], "⇧Tab", C::PreviousView, Everywhere, ("", "the previous view")),
    binding(&[Char('t')], "t", C::NextWindow, Everywhere, ("window", "figures of the next longer time: 1 s, 10 s, 1 min, since start, since mark")),
    binding(&[Char('T')], "T", C::PreviousWindow, Everywhere, ("", "figures of the next shorter time")),
    binding(&[Char('o'), Char('>')], "o >", C::NextSort, In(SORTED), ("sort", "sort by the next column")),
    binding(&[Char('O'), Char('<')], "O <", C::PreviousSort, In(SORTED), ("", "sort by the previous column")),
    binding(&[Char('/')], "/", C::Filter, Everywhere, ("filter", "show only the rows or messages with this text")),
    binding(&[Char('w')], "w", C::Show(View::Why), Everywhere, ("why", "why the selected row's messages took so long, and back")),
    binding(&[Char(' '), Char('v')], "space", C::MarkRow, Everywhere, ("mark", "mark the selected row for the comparison, or remove the mark")),
    binding(&[Char('M')], "M", C::MuteRow, Everywhere, ("", "mute the selected row: nothing more is observed of it; or unmute")),
    binding(&[Char('m')], "m", C::SetMark, Everywhere, ("baseline", "keep the present figures as the baseline; \"since mark\" begins now")),
    binding(&[Char('p')], "p", C::Pause, Everywhere, ("pause", "pause: the screen is not updated, tracing goes on")),
    binding(&[Char('x')], "x", C::Experiments, Everywhere, ("workloads", "start, stop and change workloads")),
    binding(&[Char('r')], "r", C::ReverseSort, In(ROWS), ("reverse", "reverse the order")),
    binding(&[Char('b')], "b", C::BarScale, Everywhere, ("bars", "bars: share of the time, or length by median latency")),
    binding(&[Char('c')], "c", C::Columns, In(ROWS), ("columns", "choose and order the columns")),
    binding(&[Char('s')], "s", C::Screenshot, Everywhere, ("", "write the screen to a text and an SVG file")),
    binding(&[Char(':')], ":", C::Palette, Everywhere, ("", "find a command by its name")),
    binding(&[Char('z')], "z", C::NextTheme, Everywhere, ("", "the next theme: dark, light, 16 colours, none")),
    binding(&[Up, Char('k')], "↑ k", C::Move(Motion::Up), Everywhere, ("", "select what is above")),
    binding(&[Down, Char('j')], "↓ j", C::Move(Motion::Down), Everywhere, ("", "select what is below")),
    binding(&[Left], "←", C::Move(Motion::Left), Everywhere, ("", "to the left, or earlier")),
    binding(&[Right, Char('l')], "→ l", C::Move(Motion::Right), Everywhere, ("", "to the right, or later")),
    binding(&[PageUp], "PgUp", C::Move(Motion::PageUp), Everywhere, ("", "scroll up")),
    binding(&[PageDown], "PgDn", C::Move(Motion::PageDown), Everywhere, ("", "scroll down")),
    binding(&[Home], "Home", C::Move(Motion::First), Everywhere, ("", "to the first")),
    binding(&[End, Char('G')], "End G", C::Move(Motion::Last), Everywhere, ("", "to the last")),
    binding(&[Esc], "Esc", C::Back, Everywhere, ("", "close what is open, or quit")),
    binding(&[Char('1')], "1", C::Show(View::Overview), Everywhere, ("", "view: all rows side by side")),
    binding(&[Char('2'), Char('d')], "2 d", C::Show(View::Details), Everywhere, ("", "view: all figures of the selected row")),
    binding(&[Char('3')], "3", C::Show(View::Why), Everywhere, ("", "view: why messages took so long")),
    binding(&[Char('4')], "4", C::Show(View::Compare), Everywhere, ("", "view: compare marked rows, or a row with its baseline")),
    binding(&[Char('5')], "5", C::Show(View::Distribution), Everywhere, ("", "view: distribution of the latencies, also over time")),
    binding(&[Char('6')], "6", C::Show(View::Messages), Everywhere, ("", "view: single messages, step by step")),
    binding(&[Char('7')], "7", C::Show(View::Ledger), Everywhere, ("", "view: where the bytes went")),
    binding(&[Char('8')], "8", C::Show(View::Threads), Everywhere, ("", "view: how threads were scheduled")),
    binding(&[Char('9')], "9", C::Show(View::Probes), Everywhere, ("", "view: the probes")),
    binding(&[Char('0')], "0", C::Show(View::Log), Everywhere, ("", "view: what has happened")),
    binding(&[Char('g')], "g", C::Show(View::ByName), Everywhere, ("by name", "view: rows by topic, client, connection, process, host, protocol or broker; slow subscribers")),
];

/// The bindings that have a meaning now, the narrower scopes first.
pub fn bindings(app: &App) -> Vec<&'static Binding> {
    let mut all: Vec<_> = BINDINGS.iter().filter(|one| one.scope.holds(app)).collect();
    all.sort_by_key(|one| one.scope.rank());
    all
}

/// The command of a key now; `None` if it has none.
pub fn command(app: &App, key: KeyCode) -> Option<ScreenCommand> {
    let mut all = bindings(app).into_iter();
    all.find(|one| one.keys.contains(&key)).map(|one| one.command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn within_a_scope_a_key_has_one_meaning() {
        let mut seen = HashSet::new();
        for one in BINDINGS {
            let views: &[View] = match one.scope {
                In(views) => views,
                Everywhere | Replay => &[View::Overview],
            };
            for key in one.keys {
                for view in views {
                    assert!(seen.insert((one.scope.rank(), *view, *key)), "{key:?} in {view:?}");
                }
            }
        }
    }

    #[test]
    fn every_view_has_its_key() {
        let app = App::new();
        for view in View::ALL {
            assert_eq!(command(&app, Char(view.key())), Some(C::Show(view)));
        }
    }

    #[test]
    fn what_is_shown_of_a_binding_names_one_of_its_keys() {
        for one in BINDINGS.iter().filter(|one| !one.keys.is_empty()) {
            let named = one.keys.iter().any(|key| match key {
                Char(' ') => one.shown.contains("space"),
                Char(c) => one.shown.contains(*c),
                _ => !one.shown.is_empty(),
            });
            assert!(named, "{}", one.shown);
        }
    }
}
