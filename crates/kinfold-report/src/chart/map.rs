//! Rows as points of a plane, constraints as lines between them, the broken ones on top and crossed out.

use super::{Svg, mark};

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Where.
    pub at: (f64, f64),
    /// Its cluster.
    pub cluster: usize,
    /// Shown when it is pointed at.
    pub title: String,
}

/// A constraint between two spots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// One spot.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// Together (a full line) or apart (a dashed one).
    pub together: bool,
    /// Does the clustering break it?
    pub broken: bool,
}

/// The map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// Above everything.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Names of the axes.
    pub axes: (String, String),
    /// The rows.
    pub spots: Vec<Spot>,
    /// The constraints.
    pub edges: Vec<Edge>,
    /// Names of the clusters, in order.
    pub clusters: Vec<String>,
}

const WIDTH: f64 = 720.0;
const TOP: f64 = 58.0;
const SIDE: f64 = 520.0;
/// Clusters named in the legend.
const NAMED: usize = 18;

impl Map {
    /// Draws it.
    pub fn svg(&self) -> Svg {
        let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        for s in self.spots.iter().filter(|s| s.at.0.is_finite() && s.at.1.is_finite()) {
            low = (low.0.min(s.at.0), low.1.min(s.at.1));
            high = (high.0.max(s.at.0), high.1.max(s.at.1));
        }
        // One scale for both directions: distances on the map are distances.
        let span = (high.0 - low.0, high.1 - low.1);
        let longest = span.0.max(span.1 * 1.15).max(1e-12);
        let scale = if longest.is_finite() { (SIDE - 20.0) / longest } else { 1.0 };
        let tall = if longest.is_finite() { (span.1 * scale + 30.0).clamp(160.0, SIDE) } else { 160.0 };
        let middle = ((low.0 + high.0) / 2.0, (low.1 + high.1) / 2.0);
        let place =
            |p: (f64, f64)| (14.0 + SIDE / 2.0 + (p.0 - middle.0) * scale, TOP + tall / 2.0 - (p.1 - middle.1) * scale);
        let mut svg = Svg::new(WIDTH, TOP + tall + 34.0, &self.title);
        svg.head(&self.title, &self.subtitle);
        svg.add(&format!("<rect class=\"grid\" x=\"14\" y=\"{TOP:.1}\" width=\"{SIDE:.1}\" height=\"{tall:.1}\"/>"));
        for (x, anchor, arrow, name) in [(14.0 + SIDE, "end", '→', &self.axes.0), (14.0, "start", '↑', &self.axes.1)]
        {
            if !name.is_empty() {
                svg.text(x, TOP + tall + 18.0, anchor, "soft", &format!("{arrow} {name}"));
            }
        }
        let kept: Vec<&Edge> = self.edges.iter().filter(|e| !e.broken).collect();
        let opacity = (60.0 / kept.len().max(1) as f64).clamp(0.12, 0.7);
        for together in [true, false] {
            let mut path = String::new();
            for e in kept.iter().filter(|e| e.together == together) {
                let (a, b) = (place(self.spots[e.a].at), place(self.spots[e.b].at));
                path += &format!("M{:.1} {:.1}L{:.1} {:.1}", a.0, a.1, b.0, b.1);
            }
            if !path.is_empty() {
                let dashes = if together { "" } else { " stroke-dasharray=\"5 4\"" };
                svg.add(&format!("<path class=\"ink\" opacity=\"{opacity:.2}\"{dashes} d=\"{path}\"/>"));
            }
        }
        let r = match self.spots.len() {
            0..=250 => 4.2,
            251..=1000 => 3.2,
            _ => 2.2,
        };
        for s in self.spots.iter().filter(|s| s.at.0.is_finite() && s.at.1.is_finite()) {
            let (x, y) = place(s.at);
            svg.add(&format!(
                "<g opacity=\"0.85\">{}<title>{}</title></g>",
                mark(s.cluster, x, y, r),
                crate::escape(&s.title)
            ));
        }
        for e in self.edges.iter().filter(|e| e.broken) {
            let (a, b) = (place(self.spots[e.a].at), place(self.spots[e.b].at));
            let (x, y) = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
            let dashes = if e.together { "" } else { " stroke-dasharray=\"6 4\"" };
            let line = format!("M{:.1} {:.1}L{:.1} {:.1}", a.0, a.1, b.0, b.1);
            svg.add(&format!("<path class=\"halo\" stroke-width=\"4.5\" d=\"{line}\"/>"));
            svg.add(&format!("<path class=\"bad\" stroke-width=\"2\"{dashes} d=\"{line}\"/>"));
            svg.add(&format!(
                "<path class=\"bad\" stroke-width=\"2.5\" d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\"/>",
                x - 5.0,
                y - 5.0
            ));
        }
        self.legend(&mut svg);
        svg
    }

    fn legend(&self, svg: &mut Svg) {
        let x = 14.0 + SIDE + 22.0;
        let mut y = TOP + 12.0;
        for (i, name) in self.clusters.iter().take(NAMED).enumerate() {
            svg.add(&mark(i, x, y - 4.0, 4.5));
            svg.text(x + 12.0, y, "start", "", name);
            y += 18.0;
        }
        if self.clusters.len() > NAMED {
            svg.text(x + 12.0, y, "start", "soft", &format!("… {} more", self.clusters.len() - NAMED));
            y += 18.0;
        }
        y += 8.0;
        let has =
            |together: bool, broken: bool| self.edges.iter().any(|e| e.together == together && e.broken == broken);
        for (together, broken, name) in [
            (true, false, "same, kept"),
            (false, false, "different, kept"),
            (true, true, "same, broken"),
            (false, true, "different, broken"),
        ] {
            if has(together, broken) {
                let dashes = if together { "" } else { " stroke-dasharray=\"5 4\"" };
                let class = if broken { "bad" } else { "ink" };
                let cross =
                    if broken { format!("M{:.1} {:.1}l8 8m0 -8l-8 8", x + 3.0, y - 8.0) } else { String::new() };
                svg.add(&format!(
                    "<path class=\"{class}\" stroke-width=\"2\"{dashes} d=\"M{:.1} {:.1}h22\"/>",
                    x - 6.0,
                    y - 4.0
                ));
                svg.add(&format!("<path class=\"{class}\" stroke-width=\"2\" d=\"M0 0{cross}\"/>"));
                svg.text(x + 22.0, y, "start", if broken { "badtext" } else { "" }, name);
                y += 18.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_constraints_are_crossed_out_and_named() {
        let spot = |x: f64, cluster| Spot { at: (x, 0.0), cluster, title: "row <1>".into() };
        let edge = |broken| Edge { a: 0, b: 1, together: false, broken };
        let map = Map {
            spots: vec![spot(0.0, 0), spot(1.0, 1), spot(f64::NAN, 1)],
            edges: vec![edge(false), edge(true)],
            clusters: vec!["0".into(), "1".into()],
            ..Map::default()
        };
        let text = map.svg().standalone();
        super::super::tests::well_formed(&text);
        // Two rows that have a place, and what the legend names; a cross on the map and one in the legend.
        assert_eq!(text.matches("<title>").count(), 2);
        assert_eq!(text.matches("l10 10m0 -10l-10 10").count(), 1);
        assert!(text.contains("different, broken") && text.contains("different, kept"));
        assert!(text.contains("row &lt;1&gt;") && !text.contains("NaN"));
    }

    #[test]
    fn a_map_without_rows_or_with_one_is_still_a_map() {
        assert!(!Map::default().svg().inline().contains("inf"));
        let one = Map { spots: vec![Spot { at: (3.0, 3.0), cluster: 0, title: String::new() }], ..Map::default() };
        assert!(!one.svg().inline().contains("NaN"));
    }
}
