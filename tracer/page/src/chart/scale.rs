//! Scales: from a value to a coordinate, and the values that get a tick.

/// The way in which values are spread over the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScaleKind {
    Linear,
    Log,
}

/// A scale from values to coordinates. Both ends are finite and different, whatever values it was made for.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    spread: ScaleKind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// The smallest and the largest of the finite values; `None` without any.
fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

impl Scale {
    /// From 0 to a round number that is not below any of the values.
    pub fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (_, high) = extent(values).unwrap_or((0.0, 1.0));
        let high = if high > 0.0 { high.min(1e300) } else { 1.0 };
        let step = step(high);
        Scale { spread: ScaleKind::Linear, low: 0.0, high: (high / step).ceil() * step, from, to }
    }

    /// Between two given ends.
    pub fn between(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let (low, high) = if low.is_finite() && high.is_finite() && high > low {
            (low, high)
        } else {
            (0.0, 1.0)
        };
        Scale { spread: ScaleKind::Linear, low, high, from, to }
    }

    /// Logarithmic, over all values above 0; its ends are 1, 2 or 5 times a power of ten.
    pub fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (low, high) = extent(values.filter(|&value| value > 0.0)).unwrap_or((1.0, 10.0));
        let (low, high) = (low.clamp(1e-12, 1e24), high.clamp(1e-12, 1e24));
        let (low, mut high) = (floor(low), ceil(high));
        if high <= low {
            high = low * 10.0;
        }
        Scale { spread: ScaleKind::Log, low, high, from, to }
    }

    /// Logarithmic if the largest value is more than ten times the smallest, otherwise linear from 0.
    pub fn fitting(values: &[f64], from: f64, to: f64) -> Scale {
        let above = values.iter().copied().filter(|&value| value > 0.0);
        match extent(above) {
            Some((low, high)) if high / low > 10.0 => Scale::log(values.iter().copied(), from, to),
            _ => Scale::linear(values.iter().copied(), from, to),
        }
    }

    /// True if the scale is logarithmic.
    pub fn is_log(&self) -> bool {
        self.spread == ScaleKind::Log
    }

    /// The coordinate of a value, inside the axis; `None` if the value has no place on it.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() {
            return None;
        }
        let share = match self.spread {
            ScaleKind::Linear => (value - self.low) / (self.high - self.low),
            ScaleKind::Log if value <= 0.0 => return None,
            ScaleKind::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        Some(self.from + share.clamp(0.0, 1.0) * (self.to - self.from))
    }

    /// The values that get a tick: about five, round.
    pub fn ticks(&self) -> Vec<f64> {
        match self.spread {
            ScaleKind::Linear => {
                let step = step(self.high - self.low);
                let first = (self.low / step).ceil();
                let ticks = (0..12_u8).map(|n| (first + f64::from(n)) * step);
                ticks.take_while(|&tick| tick <= self.high * (1.0 + 1e-9)).collect()
            }
            ScaleKind::Log => self.log_ticks(),
        }
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let multiples: &[f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = (decades / 6.0).ceil().max(1.0);
        let first = self.low.log10().floor();
        let mut ticks = Vec::new();
        let mut power = first;
        while power <= self.high.log10() + 1e-9 {
            let around = multiples.iter().map(|multiple| multiple * 10_f64.powf(power));
            ticks.extend(around.filter(|&tick| {
                tick >= self.low * (1.0 - 1e-9) && tick <= self.high * (1.0 + 1e-9)
            }));
            power += every;
        }
        ticks
    }

    /// Ticks at powers of two, for sizes: at most seven.
    pub fn binary_ticks(&self) -> Vec<f64> {
        let (first, last) = (self.low.max(1.0).log2().ceil(), self.high.max(1.0).log2().floor());
        let every = ((last - first + 1.0) / 7.0).ceil().max(1.0);
        let ticks = (0..64_u8).map(|n| first + f64::from(n) * every);
        ticks.take_while(|&power| power <= last).map(f64::exp2).collect()
    }
}

/// 1, 2 or 5 times a power of ten: about a fifth of the range.
fn step(range: f64) -> f64 {
    let rough = if range.is_finite() && range > 0.0 { range / 5.0 } else { 0.2 };
    let step = ceil(rough);
    if step.is_normal() { step } else { 1.0 }
}

/// The next smaller number that is 1, 2 or 5 times a power of ten.
fn floor(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [5.0, 2.0].into_iter().find(|digit| value >= digit * power * (1.0 - 1e-9));
    digit.unwrap_or(1.0) * power
}

/// The next larger number that is 1, 2, 5 or 10 times a power of ten.
fn ceil(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| value <= digit * power * (1.0 + 1e-9));
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1e-9);
        assert!(a.len() == b.len() && a.iter().zip(b).all(near), "{a:?} is not {b:?}");
    }

    #[test]
    fn ticks_are_round() {
        close(
            &Scale::linear([47.0].into_iter(), 0.0, 1.0).ticks(),
            &[0.0, 10.0, 20.0, 30.0, 40.0, 50.0],
        );
        let log = Scale::log([11_000.0, 90_000.0].into_iter(), 0.0, 1.0);
        close(&log.ticks(), &[1e4, 2e4, 5e4, 1e5]);
        let wide = Scale::log([8.0, 3e6].into_iter(), 0.0, 1.0);
        close(&wide.ticks(), &[1e1, 1e2, 1e3, 1e4, 1e5, 1e6]);
        close(
            &Scale::log([8.0, 65_536.0].into_iter(), 0.0, 1.0).binary_ticks(),
            &[8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0, 32768.0],
        );
    }

    #[test]
    fn values_keep_their_order() {
        let log = Scale::log([10.0, 1000.0].into_iter(), 0.0, 100.0);
        close(&[log.place(10.0).unwrap(), log.place(100.0).unwrap()], &[0.0, 50.0]);
        assert_eq!(log.place(0.0), None);
        assert_eq!(log.place(f64::NAN), None);
        // A vertical axis runs upwards.
        let up = Scale::linear([10.0].into_iter(), 100.0, 0.0);
        close(&[up.place(0.0).unwrap(), up.place(5.0).unwrap()], &[100.0, 50.0]);
    }

    #[test]
    fn any_values_give_a_usable_scale() {
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, f64::MAX, 1e-300];
        for one in odd {
            for other in odd {
                let values = [one, other];
                let scales = [
                    Scale::linear(values.into_iter(), 0.0, 100.0),
                    Scale::log(values.into_iter(), 0.0, 100.0),
                    Scale::fitting(&values, 0.0, 100.0),
                    Scale::between(one, other, 0.0, 100.0),
                ];
                for scale in scales {
                    assert!(scale.ticks().len() <= 32, "{scale:?}");
                    for value in odd.into_iter().chain(scale.ticks()) {
                        let place = scale.place(value).unwrap_or_default();
                        assert!((0.0..=100.0).contains(&place), "{scale:?} {value}");
                    }
                }
            }
        }
    }
}
