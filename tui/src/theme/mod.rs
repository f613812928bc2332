//! The style of each thing on the screen, in several themes.

mod environment;
mod letters;
mod rgb;
mod segments;

pub use letters::letter;
pub use rgb::rgb;

use ratatui::style::{Color, Modifier, Style};
use wirelap_events::Segment;

/// The style of each thing on the screen. Colour alone never carries meaning: segments have letters, warnings a `!`, differences
/// a sign. Pairs that mean the opposite of each other are blue and orange, which eyes without red or green cones tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    palette: Palette,
}

/// The set of colours. Bold, dim and reverse video are always used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Palette {
    /// Those of 256 colours that are legible on a dark ground.
    Dark,
    /// Those of 256 colours that are legible on a light ground.
    Light,
    /// The 16 colours that every terminal has, and that its user can change.
    Sixteen,
    /// None.
    None,
}

impl Theme {
    /// For a dark ground and 256 colours.
    pub const DARK: Theme = Theme { palette: Palette::Dark };
    /// For a light ground and 256 colours.
    pub const LIGHT: Theme = Theme { palette: Palette::Light };
    /// For terminals with 16 colours, on any ground.
    pub const SIXTEEN: Theme = Theme { palette: Palette::Sixteen };
    /// Without colours.
    pub const NONE: Theme = Theme { palette: Palette::None };

    /// All themes, in the order in which a key goes through them.
    pub const ALL: [Theme; 4] = [Theme::DARK, Theme::LIGHT, Theme::SIXTEEN, Theme::NONE];

    /// The name on the screen and in files.
    pub const fn name(self) -> &'static str {
        match self.palette {
            Palette::Dark => "dark",
            Palette::Light => "light",
            Palette::Sixteen => "16 colours",
            Palette::None => "no colours",
        }
    }

    /// The theme with this [`Theme::name`].
    pub fn from_name(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// True if the ground is light.
    pub const fn is_light(self) -> bool {
        matches!(self.palette, Palette::Light)
    }

    /// True if there are colours. Without them, bars are made of letters.
    pub const fn has_color(self) -> bool {
        !matches!(self.palette, Palette::None)
    }

    /// The next theme; after the last one the first.
    #[must_use]
    pub fn next(self) -> Theme {
        let mut themes = Theme::ALL.into_iter().cycle().skip_while(|theme| *theme != self);
        themes.nth(1).unwrap_or(Theme::DARK)
    }

    /// Text in a colour for a dark and one for a light ground, both of the 256, and one of the 16.
    fn text(self, dark: u8, light: u8, sixteen: Option<Color>) -> Style {
        match self.palette {
            Palette::Dark => Style::new().fg(Color::Indexed(dark)),
            Palette::Light => Style::new().fg(Color::Indexed(light)),
            Palette::Sixteen => sixteen.map_or(Style::new(), |color| Style::new().fg(color)),
            Palette::None => Style::new(),
        }
    }

    /// The style of the program's name and of headings.
    pub fn heading(self) -> Style {
        self.text(117, 25, None).add_modifier(Modifier::BOLD)
    }

    /// The style of less important text.
    pub fn dim(self) -> Style {
        match self.palette {
            Palette::Dark | Palette::Light => self.text(248, 240, None),
            Palette::Sixteen | Palette::None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// The style of warnings.
    pub fn warning(self) -> Style {
        self.text(214, 94, Some(Color::Magenta)).add_modifier(Modifier::BOLD)
    }

    /// The style of a figure that is better than the one that it is compared with.
    pub fn better(self) -> Style {
        self.text(75, 25, None)
    }

    /// The style of a figure that is worse than the one that it is compared with.
    pub fn worse(self) -> Style {
        self.text(208, 94, Some(Color::Magenta)).add_modifier(Modifier::BOLD)
    }

    /// The style of the state that a key has set: paused.
    pub fn state(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// The style of the selected row.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The style of a sparkline.
    pub fn spark(self) -> Style {
        self.text(117, 25, None)
    }

    /// The style of a segment in a bar.
    pub fn segment(self, segment: Segment) -> Style {
        match self.palette {
            Palette::Dark | Palette::Light => {
                let ground = Color::Indexed(segments::of_256(segment));
                // Black of the 256: the first of the 16 is whatever the user has made of it.
                Style::new().fg(Color::Indexed(16)).bg(ground)
            }
            Palette::Sixteen => {
                let (ink, ground) = segments::of_16(segment);
                Style::new().fg(ink).bg(ground)
            }
            Palette::None => Style::new(),
        }
    }
}

#[cfg(test)]
mod tests;
