//! Charts as SVG text. Colours are those of Okabe and Ito, told apart by the colour-blind, and no meaning rests on colour
//! alone: series differ in shape, dashes and labels too. A chart is drawn in light or dark by the reader's setting.

mod axis;
mod bars;
mod choice;
mod heat;
mod lines;
mod map;
mod strips;

pub use axis::Scale;
pub use bars::{Bar, Bars};
pub use choice::{Choice, Criterion};
pub use heat::Heat;
pub use lines::{LineChart, Point, Series, Spread};
pub use map::{Edge, Map, Spot};
pub use strips::Silhouettes;

use crate::escape;

/// The colours of series and clusters.
pub const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// The look of all charts: a page writes it once, a chart that stands alone carries it. On dark paper the darker colours are
/// lightened.
pub const STYLE: &str = "\
.kf{--ink:#1f2328;--soft:#5b6470;--line:#d9dde3;--paper:#fff;--bad:#b3261e;font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px}\
.kf text{fill:#1f2328;fill:var(--ink)}.kf .soft{fill:#5b6470;fill:var(--soft)}.kf .title{font-size:15px;font-weight:600}\
.kf .strong{font-weight:700}.kf .grid{stroke:#d9dde3;stroke:var(--line);fill:none}.kf .axis{stroke:#5b6470;stroke:var(--soft);fill:none}\
.kf .paper{fill:#fff;fill:var(--paper)}.kf .halo{stroke:#fff;stroke:var(--paper);fill:none}\
.kf .ink{stroke:#1f2328;stroke:var(--ink);fill:none}.kf .bad{stroke:#b3261e;stroke:var(--bad);fill:none}.kf text.badtext{fill:#b3261e;fill:var(--bad)}\
@media(prefers-color-scheme:dark){.kf{--ink:#e6e8eb;--soft:#a3acb8;--line:#39404a;--paper:#16191d;--bad:#ff8a7a}\
.kf [fill='#0072b2']{fill:#3f97e0}.kf [stroke='#0072b2']{stroke:#3f97e0}.kf [fill='#d55e00']{fill:#f5791f}.kf [stroke='#d55e00']{stroke:#f5791f}\
.kf [fill='#009e73']{fill:#1fbf92}.kf [stroke='#009e73']{stroke:#1fbf92}.kf [fill='#56b4e9']{fill:#9bd8ff}.kf [stroke='#56b4e9']{stroke:#9bd8ff}}";

/// The colour of the i-th series or cluster.
pub fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

/// Roughly how wide a character is.
const CHARACTER: f64 = 7.2;

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
    /// Title and subtitle, cut where the picture ends.
    fn head(&mut self, title: &str, subtitle: &str) {
        let room = self.width - 28.0;
        // The title is set larger.
        self.text(14.0, 24.0, "start", "title", &shortened(title, room / 1.25));
        self.text(14.0, 42.0, "start", "soft", &shortened(subtitle, room * 1.15));
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
    /// What it shows, in words.
    pub fn label(&self) -> &str {
        &self.label
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

/// As much of a text as has room, with a sign that there is more.
fn shortened(text: &str, room: f64) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let most = ((room / CHARACTER) as usize).max(2) - 1;
    text.chars().take(most).collect::<String>() + "…"
}

/// Roughly how wide a text is.
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Fails unless tags nest, attributes are quoted, and no text holds what XML does not allow.
    pub(crate) fn well_formed(text: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            words(&rest[..at]);
            let end = at + rest[at..].find('>').expect("a tag ends");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(closing) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(closing), "in {tag}");
                continue;
            }
            let (name, attributes) =
                tag.trim_end_matches('/').split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
            assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
            assert_eq!(attributes.matches('"').count(), 2 * attributes.matches("=\"").count(), "<{tag}>");
            words(attributes);
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        words(rest);
        assert!(open.is_empty(), "{open:?} never end");
        for wrong in ["NaN", "inf ", "inf\""] {
            assert!(!text.contains(wrong), "{wrong}");
        }
    }

    fn words(text: &str) {
        for (at, _) in text.match_indices('&') {
            let known = ["amp;", "lt;", "gt;", "quot;"].iter().any(|e| text[at + 1..].starts_with(e));
            assert!(known, "a bare & in {text}");
        }
        assert!(!text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
    }

    #[test]
    fn the_checker_finds_what_is_wrong() {
        well_formed("<svg a=\"1\"><g/><text x=\"2\">a &amp; b</text></svg>");
        for wrong in ["<svg><g></svg>", "<svg>a & b</svg>", "<svg a=1\"/>", "<svg>", "<svg x=\"NaN\"/>"] {
            assert!(std::panic::catch_unwind(|| well_formed(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_without_room_is_cut_and_says_so() {
        assert_eq!(shortened("short", 100.0), "short");
        assert_eq!(shortened("a long name", 50.0), "a lon…");
    }

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
