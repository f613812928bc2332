//! The commands that keys, clicks and lines of the command palette give to the screen.

use super::View;

/// A command to the screen, given by a key, a click or a line of the command palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScreenCommand {
    /// Leave the screen.
    Quit,
    /// Close what is open, from the inside out; leave the screen if nothing is.
    Back,
    /// Show or hide the help.
    Help,
    /// Show the command palette.
    Palette,
    /// Enter the text that the rows or messages are filtered by.
    Filter,
    /// Show a view, or the overview if that view is shown already.
    Show(View),
    /// Show the view with the next tab.
    NextView,
    /// Show the view with the previous tab.
    PreviousView,
    /// Move the selection, or scroll.
    Move(Motion),
    /// Show more of what is selected.
    Open,
    /// Stop and resume updating the screen; tracing goes on.
    Pause,
    /// Show the figures of the next longer window.
    NextWindow,
    /// Show the figures of the next shorter window.
    PreviousWindow,
    /// Keep the present figures as the baseline that later ones are compared with.
    SetMark,
    /// Mark the selected row for the comparison, or remove its mark.
    MarkRow,
    /// Mute the selected row, so that nothing is observed of it, or end that.
    MuteRow,
    /// Sort by the next column.
    NextSort,
    /// Sort by the previous column.
    PreviousSort,
    /// Reverse the order.
    ReverseSort,
    /// Change what the lengths of the bars show.
    BarScale,
    /// Choose what the rows by name are told apart by.
    Grouping,
    /// Choose and order the columns.
    Columns,
    /// Show the next plot, or the next of the compared rows.
    NextPlot,
    /// Show the next list of messages.
    NextList,
    /// Show the previous message on the same connection.
    EarlierMessage,
    /// Show the next message on the same connection.
    LaterMessage,
    /// Write the shown message and its packets to a file.
    Export,
    /// Copy the Wireshark filter of the shown message.
    CopyFilter,
    /// Write the screen to a file.
    Screenshot,
    /// Use the next theme.
    NextTheme,
    /// Start, stop and change workloads.
    Experiments,
    /// Control a replay.
    Replay(ReplayControl),
}

/// A direction and distance in which the selection moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Motion {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One column to the left, or earlier.
    Left,
    /// One column to the right, or later.
    Right,
    /// Several lines up.
    PageUp,
    /// Several lines down.
    PageDown,
    /// To the first line.
    First,
    /// To the last line.
    Last,
}

impl Motion {
    /// The place in a list of `count` lines that the motion goes to from the place `at`. A motion to the side leaves it there.
    pub(super) fn place(self, at: usize, count: usize, page: usize) -> usize {
        let last = last_place(count);
        let to = match self {
            Motion::Up => at.saturating_sub(1),
            Motion::Down => at.saturating_add(1),
            Motion::PageUp => at.saturating_sub(page),
            Motion::PageDown => at.saturating_add(page),
            Motion::First => 0,
            Motion::Last => last,
            Motion::Left | Motion::Right => at,
        };
        to.min(last)
    }
}

/// The place of the last of so many lines; 0 if there are none.
pub(crate) fn last_place(count: usize) -> usize {
    count.saturating_sub(1)
}

/// The place in a list of `count` lines that is `step` lines after the place `at`.
pub(crate) fn step_to(at: usize, step: isize, count: usize) -> usize {
    at.saturating_add_signed(step).min(last_place(count))
}

/// A command to the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplayControl {
    /// Play or pause.
    PlayPause,
    /// Twice as fast.
    Faster,
    /// Half as fast.
    Slower,
    /// Some seconds back.
    Back,
    /// Some seconds forward.
    Forward,
    /// To the beginning.
    Start,
    /// To the end.
    End,
    /// To the slowest message.
    Worst,
}
