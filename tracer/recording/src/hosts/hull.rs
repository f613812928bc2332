//! Convex hull: of all points over time, those that a line from below can touch.

/// A point: time, and what is measured.
pub type HullPoint = (f64, f64);

/// The lower hull of points.
#[derive(Debug, Default)]
pub struct LowerHull {
    points: Vec<HullPoint>,
    /// Slopes from each point to the next, which rise.
    slopes: Vec<f64>,
}

impl LowerHull {
    /// The hull of points in order of time (Andrew's monotone chain).
    pub fn of(points: impl IntoIterator<Item = HullPoint>) -> LowerHull {
        let mut hull: Vec<HullPoint> = Vec::new();
        for point in points {
            while let [.., before, last] = hull[..]
                && turns_right(before, last, point)
            {
                hull.pop();
            }
            hull.push(point);
        }
        let slope = |pair: &[HullPoint]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
        let slopes = hull.windows(2).map(slope).collect();
        LowerHull { points: hull, slopes }
    }

    /// The height at time 0 of the line of a slope that touches the points from below; infinite if there are none.
    pub fn height(&self, slope: f64) -> f64 {
        let touched = self.slopes.partition_point(|next| *next < slope);
        self.points.get(touched).map_or(f64::INFINITY, |point| point.1 - slope * point.0)
    }
}

/// True if the way over `b` turns right, or goes straight on.
fn turns_right(a: HullPoint, b: HullPoint, c: HullPoint) -> bool {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_line_can_touch_is_left() {
        let points = [(0.0, 1.0), (1.0, 5.0), (2.0, 0.0), (3.0, 3.0), (4.0, 2.0), (4.0, 9.0)];
        let hull = LowerHull::of(points);
        assert_eq!(hull.points, [(0.0, 1.0), (2.0, 0.0), (4.0, 2.0), (4.0, 9.0)]);
        for slope in [-9.0, -0.5, 0.0, 0.7, 1.0, 9.0] {
            let heights = points.map(|(x, y)| y - slope * x);
            let least = heights.into_iter().fold(f64::INFINITY, f64::min);
            assert!((hull.height(slope) - least).abs() < 1e-9, "{slope}");
        }
        assert!(LowerHull::default().height(1.0).is_infinite());
    }
}
