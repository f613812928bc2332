//! Contrast of the colours in both schemes, by WCAG 2.2, 1.4.3 and 1.4.11.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../src/style.css");

/// The variables of the light and the dark scheme.
fn schemes() -> [BTreeMap<String, [f64; 3]>; 2] {
    let (light, rest) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (dark, _) = rest.split_once("*, *::before").unwrap();
    [light, dark].map(|text| {
        let lines =
            text.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": #"));
        lines.map(|(name, value)| (name.to_owned(), colour(value.trim_end_matches(';')))).collect()
    })
}

fn colour(hex: &str) -> [f64; 3] {
    let part = |at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
    [part(0), part(2), part(4)]
}

fn luminance(colour: [f64; 3]) -> f64 {
    let linear = |part: f64| {
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn black_on_white_is_21() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
}

#[test]
fn text_can_be_read_in_both_schemes() {
    for scheme in schemes() {
        assert_eq!(scheme.len(), 17, "{scheme:?}");
        for name in ["text", "soft", "link", "warn", "good"] {
            for back in ["back", "card"] {
                let contrast = contrast(scheme[name], scheme[back]);
                assert!(contrast >= 4.5, "{name} on {back}: {contrast:.2}");
            }
        }
        // Names in bars are in the colour of the background.
        for number in 1..=8 {
            let contrast = contrast(scheme[&format!("c{number}")], scheme["back"]);
            assert!(contrast >= 4.5, "c{number}: {contrast:.2}");
        }
        assert!(contrast(scheme["rule"], scheme["back"]) >= 3.0);
    }
}

/// A colour as a reader without one kind of cone sees it, after Viénot, Brettel and Mollon (1999).
fn without_red_or_green(colour: [f64; 3]) -> [f64; 2] {
    let linear = colour.map(|part| part.powf(2.2));
    [0.3 * linear[0] + 0.7 * linear[1], linear[2]].map(|part| part.powf(1.0 / 2.2))
}

#[test]
fn the_first_colours_differ_without_red_or_green_too() {
    for scheme in schemes() {
        let seen = |number: usize| without_red_or_green(scheme[&format!("c{number}")]);
        for one in 1..=3 {
            for other in one + 1..=3 {
                let (a, b) = (seen(one), seen(other));
                let distance = (a[0] - b[0]).hypot(a[1] - b[1]);
                assert!(distance > 0.1, "c{one} and c{other}: {distance:.2}");
            }
        }
    }
}
