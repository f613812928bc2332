use super::*;
use std::collections::HashSet;

/// Grounds on which text of the theme has to be legible: black, and dark and light ones that terminals have by default.
const DARK_GROUNDS: [u32; 4] = [0x00_00_00, 0x14_17_1c, 0x1e_1e_1e, 0x28_2c_34];
const LIGHT_GROUNDS: [u32; 3] = [0xff_ff_ff, 0xfd_f6_e3, 0xee_ee_ee];

/// Red, green and blue in linear light, 0..=1.
fn linear(color: u32) -> [f64; 3] {
    let [_, channels @ ..] = color.to_be_bytes();
    channels.map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

/// The contrast of two colours, 1..=21 (WCAG 2.2, "contrast ratio").
fn contrast(a: u32, b: u32) -> f64 {
    let luminance = |color| {
        let [r, g, b] = linear(color);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b): (f64, f64) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

const EVERY_CONE: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.
const NO_GREEN: [[f64; 3]; 3] = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];
const NO_RED: [[f64; 3]; 3] = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];

/// A colour in CIELAB, as eyes see it.
fn lab(color: u32, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
    let times = |matrix: &[[f64; 3]; 3], v: [f64; 3]| {
        matrix.map(|row| row.iter().zip(v).map(|(factor, value)| factor * value).sum::<f64>())
    };
    let seen = times(eyes, linear(color)).map(|value| value.clamp(0.0, 1.0));
    let [x, y, z] = times(
        &[
            [0.412_456_4, 0.357_576_1, 0.180_437_5],
            [0.212_672_9, 0.715_152_2, 0.072_175_0],
            [0.019_333_9, 0.119_192_0, 0.950_304_1],
        ],
        seen,
    );
    let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let (x, y, z) = (f(x / 0.950_47), f(y), f(z / 1.088_83));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The difference of two colours, for the eyes that see the least of it. Two that differ by 2 are hardly told apart side by side.
fn difference(a: u32, b: u32) -> f64 {
    let of = |eyes| {
        let (a, b) = (lab(a, eyes), lab(b, eyes));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    [&EVERY_CONE, &NO_GREEN, &NO_RED].map(of).into_iter().fold(f64::INFINITY, f64::min)
}

fn ink(style: Style) -> u32 {
    rgb(style.fg.expect("a colour")).expect("not the terminal's own")
}

fn ground(style: Style) -> u32 {
    rgb(style.bg.expect("a colour")).expect("not the terminal's own")
}

#[test]
fn text_is_legible_on_its_ground() {
    for (theme, grounds) in [(Theme::DARK, &DARK_GROUNDS[..]), (Theme::LIGHT, &LIGHT_GROUNDS[..])] {
        let styles = [
            ("heading", theme.heading()),
            ("dim", theme.dim()),
            ("warning", theme.warning()),
            ("better", theme.better()),
            ("worse", theme.worse()),
            ("spark", theme.spark()),
        ];
        for (name, style) in styles {
            for &ground in grounds {
                let contrast = contrast(ink(style), ground);
                assert!(contrast >= 4.5, "{} {name} on {ground:06x}: {contrast:.2}", theme.name());
            }
        }
        for segment in Segment::ALL {
            let style = theme.segment(segment);
            let contrast = contrast(ink(style), ground(style));
            assert!(contrast >= 4.5, "{segment:?}: {contrast:.2}");
        }
    }
}

#[test]
fn segments_differ_for_every_eye() {
    let color = |at: usize| ground(Theme::DARK.segment(Segment::ALL[at % Segment::ALL.len()]));
    for first in 0..Segment::ALL.len() {
        for apart in 1..Segment::ALL.len() {
            let differ = difference(color(first), color(first + apart));
            // Bars leave segments out that take no time: two that are up to three apart can be neighbours.
            let least = if apart <= 3 { 20.0 } else { 10.0 };
            let (a, b) = (Segment::ALL[first], Segment::ALL[(first + apart) % Segment::ALL.len()]);
            assert!(differ >= least || apart > Segment::ALL.len() - 4, "{a:?} {b:?}: {differ:.1}");
        }
    }
}

#[test]
fn better_and_worse_differ_for_every_eye() {
    for theme in [Theme::DARK, Theme::LIGHT] {
        let differ = difference(ink(theme.better()), ink(theme.worse()));
        assert!(differ >= 40.0, "{}: {differ:.1}", theme.name());
    }
}

#[test]
fn every_segment_has_a_letter_and_a_colour_of_its_own() {
    let letters: HashSet<_> = Segment::ALL.into_iter().map(letter).collect();
    assert_eq!(letters.len(), Segment::ALL.len());
    for theme in [Theme::DARK, Theme::LIGHT, Theme::SIXTEEN] {
        let colors: HashSet<_> = Segment::ALL.map(|segment| theme.segment(segment).bg).into();
        assert_eq!(colors.len(), Segment::ALL.len());
    }
}

#[test]
fn the_16_colours_have_no_others() {
    let theme = Theme::SIXTEEN;
    let mut styles = Segment::ALL.map(|segment| theme.segment(segment)).to_vec();
    styles.extend([theme.heading(), theme.dim(), theme.warning(), theme.better(), theme.worse()]);
    for color in styles.iter().flat_map(|style| [style.fg, style.bg]).flatten() {
        assert!(!matches!(color, Color::Indexed(_) | Color::Rgb(..)), "{color:?}");
    }
}

#[test]
fn without_colour_no_style_has_any() {
    let theme = Theme::NONE;
    let styles = [theme.heading(), theme.dim(), theme.warning(), theme.better(), theme.worse()];
    let styles = styles.into_iter().chain([theme.spark(), theme.segment(Segment::Wire)]);
    assert!(styles.into_iter().all(|style| style.fg.is_none() && style.bg.is_none()));
}

#[test]
fn a_key_goes_through_all_themes() {
    let mut theme = Theme::DARK;
    for _ in Theme::ALL {
        assert_eq!(Theme::from_name(theme.name()), Some(theme));
        theme = theme.next();
    }
    assert_eq!(theme, Theme::DARK);
}
