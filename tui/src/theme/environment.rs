//! The choice of the theme that fits the terminal, by what the environment says about it.

use super::Theme;

/// The environment variables that describe the terminal; empty where they are not set.
#[derive(Clone, Debug, Default)]
struct Terminal {
    no_color: String,
    colorterm: String,
    term: String,
    colorfgbg: String,
}

impl Theme {
    /// The theme that fits the terminal, by the environment variables `NO_COLOR` (<https://no-color.org>), `COLORTERM`, `TERM` and
    /// `COLORFGBG`. `sudo` keeps only `TERM` of them: on a light ground, the user chooses the theme with a key.
    pub fn from_env() -> Theme {
        let of = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Theme::of_terminal(&Terminal {
            no_color: of("NO_COLOR").unwrap_or_default(),
            colorterm: of("COLORTERM").unwrap_or_default(),
            term: of("TERM").unwrap_or_default(),
            colorfgbg: of("COLORFGBG").unwrap_or_default(),
        })
    }

    fn of_terminal(terminal: &Terminal) -> Theme {
        let term = terminal.term.as_str();
        if !terminal.no_color.is_empty() || matches!(term, "dumb" | "vt100" | "vt102" | "vt220") {
            return Theme::NONE;
        }
        let has_many = !terminal.colorterm.is_empty()
            || ["256", "direct", "kitty", "alacritty", "ghostty", "foot", "wezterm", "tmux"]
                .iter()
                .any(|name| term.contains(name));
        if !has_many {
            return Theme::SIXTEEN;
        }
        // `15;0` or `0;default;15`: the last number is the ground, one of the 16 colours.
        match terminal.colorfgbg.rsplit(';').next() {
            Some("7" | "15") => Theme::LIGHT,
            _ => Theme::DARK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(no_color: &str, colorterm: &str, term: &str, colorfgbg: &str) -> Theme {
        let [no_color, colorterm, term, colorfgbg] =
            [no_color, colorterm, term, colorfgbg].map(str::to_owned);
        Theme::of_terminal(&Terminal { no_color, colorterm, term, colorfgbg })
    }

    #[test]
    fn the_theme_fits_the_terminal() {
        assert_eq!(theme("", "", "xterm-256color", ""), Theme::DARK);
        assert_eq!(theme("", "truecolor", "xterm", ""), Theme::DARK);
        assert_eq!(theme("", "", "linux", ""), Theme::SIXTEEN);
        assert_eq!(theme("", "", "", ""), Theme::SIXTEEN);
        assert_eq!(theme("", "", "dumb", ""), Theme::NONE);
        assert_eq!(theme("1", "truecolor", "xterm-256color", "0;15"), Theme::NONE);
        assert_eq!(theme("", "", "xterm-256color", "0;15"), Theme::LIGHT);
        assert_eq!(theme("", "", "rxvt-256color", "0;default;15"), Theme::LIGHT);
        assert_eq!(theme("", "", "rxvt-256color", "15;0"), Theme::DARK);
        assert_eq!(theme("", "", "linux", "0;15"), Theme::SIXTEEN);
    }
}
