//! Stand-ins for the synthetic sets of the paper that are not public: same sizes, same number of clusters, the shapes of its
//! figure 5 as far as a name and a cluster distribution tell. One fixed draw each.

use std::f64::consts::PI;

use kinfold::rng::Rng;

/// Points and classes of the lookalike of that name.
pub(super) fn make(name: &str) -> Option<(Vec<f64>, Vec<u32>)> {
    let mut rng = Rng::stream(7, name, 0);
    let mut draw = Draw { x: Vec::new(), truth: Vec::new(), rng: &mut rng };
    match name {
        // Two bars side by side, one denser than the other towards its ends.
        "bars~" => {
            draw.rectangle(0, 200, [0.0, 0.0], [1.0, 2.4]);
            draw.rectangle(1, 200, [1.5, 0.0], [1.0, 2.4]);
        }
        // A ring around two discs.
        "circs~" => {
            draw.disc(0, 100, [-0.8, 0.0], 0.55);
            draw.disc(1, 100, [0.8, 0.0], 0.55);
            draw.arc(2, 200, [0.0, 0.0], 2.3, 0.12, 0.0, 2.0 * PI);
        }
        // A wide cluster and three small dense ones beside it.
        "d1~" => {
            draw.blob(0, 19, [3.4, 3.2], [0.3, 0.3]);
            draw.blob(1, 17, [4.2, -2.2], [0.35, 0.25]);
            draw.blob(2, 26, [-3.6, 2.6], [0.4, 0.3]);
            draw.blob(3, 138, [0.0, 0.0], [1.4, 0.9]);
        }
        // A curved cluster with three others inside its bend and at its ends.
        "d2~" => {
            draw.arc(0, 116, [0.0, 0.0], 2.6, 0.3, 0.1 * PI, 0.95 * PI);
            draw.blob(1, 39, [0.0, 0.4], [0.6, 0.5]);
            draw.blob(2, 21, [2.3, -0.8], [0.3, 0.3]);
            draw.blob(3, 24, [-1.9, -0.9], [0.45, 0.3]);
        }
        // A long cluster with four small ones around it.
        "d3~" => {
            draw.rectangle(0, 98, [0.0, 0.0], [6.0, 1.2]);
            draw.blob(1, 23, [1.0, 2.3], [0.35, 0.3]);
            draw.blob(2, 23, [4.6, 2.4], [0.3, 0.3]);
            draw.blob(3, 35, [3.0, -1.6], [0.5, 0.35]);
            draw.blob(4, 21, [7.4, 0.6], [0.3, 0.5]);
        }
        "half-rings~" => {
            draw.arc(0, 200, [0.0, 0.0], 1.0, 0.1, 0.0, PI);
            draw.arc(1, 200, [1.0, 0.1], 1.0, 0.1, PI, 2.0 * PI);
        }
        _ => return None,
    }
    Some((draw.x, draw.truth))
}

struct Draw<'a> {
    x: Vec<f64>,
    truth: Vec<u32>,
    rng: &'a mut Rng,
}

impl Draw<'_> {
    fn push(&mut self, class: u32, point: [f64; 2]) {
        self.x.extend(point);
        self.truth.push(class);
    }
    fn rectangle(&mut self, class: u32, count: usize, corner: [f64; 2], size: [f64; 2]) {
        for _ in 0..count {
            let point = [corner[0] + size[0] * self.rng.unit(), corner[1] + size[1] * self.rng.unit()];
            self.push(class, point);
        }
    }
    fn disc(&mut self, class: u32, count: usize, centre: [f64; 2], radius: f64) {
        for _ in 0..count {
            let (r, t) = (radius * self.rng.unit().sqrt(), 2.0 * PI * self.rng.unit());
            self.push(class, [centre[0] + r * t.cos(), centre[1] + r * t.sin()]);
        }
    }
    fn blob(&mut self, class: u32, count: usize, centre: [f64; 2], spread: [f64; 2]) {
        for _ in 0..count {
            let point = [centre[0] + spread[0] * self.rng.normal(), centre[1] + spread[1] * self.rng.normal()];
            self.push(class, point);
        }
    }
    /// Points along an arc, blurred across it.
    #[allow(clippy::too_many_arguments)]
    fn arc(&mut self, class: u32, count: usize, centre: [f64; 2], radius: f64, blur: f64, from: f64, to: f64) {
        for _ in 0..count {
            let (t, r) = (from + (to - from) * self.rng.unit(), radius + blur * self.rng.normal());
            self.push(class, [centre[0] + r * t.cos(), centre[1] + r * t.sin()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_papers_table_1() {
        let expected: [(&str, &[usize]); 6] = [
            ("bars~", &[200, 200]),
            ("circs~", &[100, 100, 200]),
            ("d1~", &[19, 17, 26, 138]),
            ("d2~", &[116, 39, 21, 24]),
            ("d3~", &[98, 23, 23, 35, 21]),
            ("half-rings~", &[200, 200]),
        ];
        for (name, sizes) in expected {
            let (x, truth) = make(name).unwrap();
            assert_eq!(x.len(), 2 * truth.len());
            for (class, &size) in sizes.iter().enumerate() {
                assert_eq!(truth.iter().filter(|t| **t as usize == class).count(), size, "{name}");
            }
        }
        assert!(make("iris").is_none());
    }
}
