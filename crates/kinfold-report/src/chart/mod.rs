//! Charts as SVG text. Colours are those of Okabe and Ito, told apart by the colour-blind, and no meaning rests on colour
//! alone: series differ in shape, dashes and labels too. A chart is drawn in light or dark by the reader's setting.

mod axis;
mod bars;
mod heat;
mod lines;
mod map;
mod strips;

pub use axis::Scale;
pub use bars::{Bar, Bars};
pub use heat::Heat;
pub use lines::{LineChart, Point, Series, Spread};
pub use map::{Edge, Map, Spot};
pub use strips::Silhouettes;

use crate::escape;

/// The colours of series and clusters.
pub const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// The look of all charts: a page writes it once, a chart that stands alone carries it.
pub const STYLE: &str = "\
.kf{--ink:#1f2328;--soft:#5b6470;--line:#d9dde3;--paper:#fff;--bad:#b3261e;font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px}\
.kf text{fill:#1f2328;fill:var(--ink)}.kf .soft{fill:#5b6470;fill:var(--soft)}.kf .title{font-size:15px;font-weight:600}\
.kf .strong{font-weight:700}.kf .grid{stroke:#d9dde3;stroke:var(--line);fill:none}.kf .axis{stroke:#5b6470;stroke:var(--soft);fill:none}\
.kf .paper{fill:#fff;fill:var(--paper)}.kf .halo{stroke:#fff;stroke:var(--paper);fill:none}\
.kf .ink{stroke:#1f2328;stroke:var(--ink);fill:none}.kf .bad{stroke:#b3261e;stroke:var(--bad);fill:none}.kf text.badtext{fill:#b3261e;fill:var(--bad)}\
@media(prefers-color-scheme:dark){.kf{--ink:#e6e8eb;--soft:#a3acb8;--line:#39404a;--paper:#16191d;--bad:#ff8a7a}}";

/// The colour of the i-th series or cluster.
pub fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

/// Number of different marks.
const MARKS: usize = 7;

/// The mark of the i-th series or cluster around a point: 42 marks before one comes again in the same colour.
pub fn mark(i: usize, x: f64, y: f64, r: f64) -> String {
    let (a, b) = (r * 0.9, r * 1.15);
    let path = match i % MARKS {
        0 => return format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\" fill=\"{}\"/>", colour(i)),
        1 => format!("M{:.1} {:.1}h{2:.1}v{2:.1}h-{2:.1}z", x - a, y - a, 2.0 * a),
        2 => format!("M{x:.1} {:.1}l{b:.1} {:.1}h-{:.1}z", y - b, 2.0 * b, 2.0 * b),
        3 => format!("M{x:.1} {:.1}l{b:.1} {b:.1}l-{b:.1} {b:.1}l-{b:.1} -{b:.1}z", y - b),
        4 => format!("M{x:.1} {:.1}l{b:.1} -{:.1}h-{:.1}z", y + b, 2.0 * b, 2.0 * b),
        5 => {
            let t = r * 0.38;
            let l = b - t;
            format!(
                "M{:.1} {:.1}h{2:.1}v{l:.1}h{l:.1}v{2:.1}h-{l:.1}v{l:.1}h-{2:.1}v-{l:.1}h-{l:.1}v-{2:.1}h{l:.1}z",
                x - t,
                y - b,
                2.0 * t
            )
        }
        _ => {
            return format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1}\"/>",
                r * 0.85,
                colour(i),
                (r * 0.55).max(1.0)
            );
        }
    };
    format!("<path d=\"{path}\" fill=\"{}\"/>", colour(i))
}

/// A drawn chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Svg {
    width: f64,
    height: f64,
    label: String,
    body: String,
}

impl Svg {
    fn new(width: f64, height: f64, label: &str) -> Svg {
        Svg { width, height, label: label.to_owned(), body: String::new() }
    }
    fn add(&mut self, piece: &str) {
        self.body.push_str(piece);
        self.body.push('\n');
    }
    fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let text = escape(text);
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{class}>{text}</text>"));
    }
    fn opening(&self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kf\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" height=\"{1:.0}\" role=\"img\" \
             aria-label=\"{2}\">",
            self.width,
            self.height,
            escape(&self.label)
        )
    }
    /// For a page that carries [`STYLE`].
    pub fn inline(&self) -> String {
        format!("{}\n{}</svg>\n", self.opening(), self.body)
    }
    /// For a file of its own.
    pub fn standalone(&self) -> String {
        format!(
            "{}<style>{STYLE}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.opening(),
            self.body
        )
    }
}

/// Moves heights apart so that no two are closer than `gap`, keeping their order and, as far as that goes, their places
/// between `low` and `high`.
fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = vec![0.0; wanted.len()];
    let mut last = f64::NEG_INFINITY;
    for &i in &order {
        last = wanted[i].max(last + gap).max(low);
        placed[i] = last;
    }
    let mut next = high.max(low + gap * wanted.len().saturating_sub(1) as f64);
    for &i in order.iter().rev() {
        placed[i] = placed[i].min(next);
        next = placed[i] - gap;
    }
    placed
}

/// Roughly how wide a text is.
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * 7.2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_order_and_their_distance() {
        let placed = spread(&[50.0, 48.0, 10.0, 49.0], 10.0, 0.0, 60.0);
        assert!(placed[2] < placed[1] && placed[1] < placed[3] && placed[3] < placed[0]);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|w| w[1] - w[0] >= 10.0 - 1e-9));
        assert!(sorted[3] <= 60.0 + 1e-9);
    }

    #[test]
    fn every_mark_is_one_closed_element() {
        for i in 0..14 {
            let text = mark(i, 5.0, 5.0, 4.0);
            assert!(text.starts_with('<') && text.ends_with("/>"), "{text}");
        }
    }

    #[test]
    fn a_chart_alone_carries_its_style_and_one_in_a_page_does_not() {
        let mut svg = Svg::new(10.0, 10.0, "a < b");
        svg.text(1.0, 1.0, "start", "", "x & y");
        assert!(svg.standalone().contains("<style>") && !svg.inline().contains("<style>"));
        assert!(svg.inline().contains("a &lt; b") && svg.inline().contains("x &amp; y"));
    }
}
