//! Convex hulls: of all points over time, those that a line from below, or from above, can touch.

/// A point: time, and what is measured.
pub type HullPoint = (f64, f64);

/// The lower hull of points in order of time (Andrew's monotone chain).
pub fn lower(points: impl IntoIterator<Item = HullPoint>) -> Vec<HullPoint> {
    let mut hull: Vec<HullPoint> = Vec::new();
    for point in points {
        while let [.., before, last] = hull[..]
            && turns_right(before, last, point)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// The upper hull.
pub fn upper(points: impl IntoIterator<Item = HullPoint>) -> Vec<HullPoint> {
    let mirrored = lower(points.into_iter().map(|(x, y)| (x, -y)));
    mirrored.into_iter().map(|(x, y)| (x, -y)).collect()
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
        assert_eq!(lower(points), [(0.0, 1.0), (2.0, 0.0), (4.0, 2.0), (4.0, 9.0)]);
        assert_eq!(upper(points)[..2], [(0.0, 1.0), (1.0, 5.0)]);
        assert_eq!(upper(points).last(), Some(&(4.0, 9.0)));
    }
}
