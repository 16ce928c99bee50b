//! Silhouettes: every row of a cluster as a thin bar, longest first, clusters below one another.

use super::axis::{Axis, Scale};
use super::{Svg, colour, mark, shortened, width_of};

/// Silhouette widths by cluster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Silhouettes {
    /// Above everything.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Name and widths (−1 to 1) of each cluster.
    pub clusters: Vec<(String, Vec<f64>)>,
}

const WIDTH: f64 = 720.0;
const RIGHT: f64 = 90.0;

impl Silhouettes {
    /// Draws them.
    pub fn svg(&self) -> Svg {
        let left = self.clusters.iter().map(|c| width_of(&c.0)).fold(70.0, f64::max).min(240.0) + 40.0;
        let total: usize = self.clusters.iter().map(|c| c.1.len()).sum();
        let per_row = (420.0 / total.max(1) as f64).min(4.0);
        let heights: Vec<f64> = self.clusters.iter().map(|c| (c.1.len() as f64 * per_row).max(16.0)).collect();
        let top = 60.0;
        let bottom = top + heights.iter().sum::<f64>() + 8.0 * self.clusters.len() as f64;
        let lowest = self.clusters.iter().flat_map(|c| &c.1).copied().fold(0.0f64, f64::min);
        let low = if lowest < -0.5 {
            -1.0
        } else if lowest < 0.0 {
            -0.5
        } else {
            0.0
        };
        let x = Axis::new(Scale::Linear, std::iter::empty(), Some((low, 1.0)), left, WIDTH - RIGHT);
        let mut svg = Svg::new(WIDTH, bottom + 44.0, &self.title);
        svg.head(&self.title, &self.subtitle);
        for tick in x.ticks() {
            let at = x.place(tick);
            svg.add(&format!("<path class=\"grid\" d=\"M{at:.1} {top:.1}V{bottom:.1}\"/>"));
            svg.text(at, bottom + 16.0, "middle", "soft", &x.label(tick));
        }
        svg.text(
            (left + WIDTH - RIGHT) / 2.0,
            bottom + 34.0,
            "middle",
            "",
            "silhouette width: 1 deep inside its cluster, below 0 nearer to another",
        );
        let mut y = top;
        let zero = x.place(0.0);
        for (i, ((name, widths), height)) in self.clusters.iter().zip(&heights).enumerate() {
            let mut sorted: Vec<f64> = widths.iter().copied().filter(|w| w.is_finite()).collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            if !sorted.is_empty() {
                // One outline per cluster: a step for every row.
                let step = height / sorted.len() as f64;
                let mut path = format!("M{zero:.1} {y:.1}");
                for (at, w) in sorted.iter().enumerate() {
                    path += &format!("H{:.1}V{:.1}", x.place(*w), y + (at + 1) as f64 * step);
                }
                svg.add(&format!("<path d=\"{path}H{zero:.1}z\" fill=\"{}\" opacity=\"0.85\"/>", colour(i)));
            }
            let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
            svg.add(&mark(i, 20.0, y + height / 2.0, 4.5));
            svg.text(32.0, y + height / 2.0 + 4.0, "start", "", &shortened(name, left - 36.0));
            let said =
                if sorted.is_empty() { "no rows".to_owned() } else { format!("mean {mean:.2}").replace('-', "−") };
            svg.text(WIDTH - RIGHT + 10.0, y + height / 2.0 + 4.0, "start", "soft", &said);
            y += height + 8.0;
        }
        svg.add(&format!("<path class=\"axis\" d=\"M{zero:.1} {top:.1}V{bottom:.1}\"/>"));
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::well_formed;
    use super::*;

    #[test]
    fn one_outline_per_cluster_with_a_step_per_row_and_its_mean() {
        let chart = Silhouettes {
            clusters: vec![
                ("a & b".into(), vec![0.2, 0.8, f64::NAN]),
                ("empty".into(), vec![]),
                ("c".into(), vec![-0.3, -0.5]),
            ],
            ..Silhouettes::default()
        };
        let text = chart.svg().standalone();
        well_formed(&text);
        let outlines: Vec<&str> =
            text.split("<path d=\"M").skip(1).filter(|p| p.contains("opacity=\"0.85\"")).collect();
        assert_eq!(outlines.len(), 2);
        assert_eq!(outlines[0].split("z\"").next().unwrap().matches('V').count(), 2);
        assert!(text.contains("mean 0.50") && text.contains("mean −0.40") && text.contains("a &amp; b"));
        assert!(!text.contains("mean 0.00"), "an empty cluster has no mean");
    }
}
