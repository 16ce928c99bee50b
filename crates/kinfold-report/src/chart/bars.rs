//! Horizontal bars with an error and a value behind each.

use super::axis::{Axis, Scale};
use super::{Svg, colour, shortened, width_of};

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// Its name, to the left.
    pub name: String,
    /// How long; `None` is named without a bar.
    pub value: Option<f64>,
    /// Half the length of the error line; 0 = none.
    pub error: f64,
    /// Written behind it.
    pub text: String,
    /// The one to look at.
    pub strong: bool,
}

/// Bars below one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// Above everything.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Name of the axis.
    pub x_name: String,
    /// Fixed range.
    pub range: Option<(f64, f64)>,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

const WIDTH: f64 = 720.0;
const ROW: f64 = 22.0;

impl Bars {
    /// Draws them.
    pub fn svg(&self) -> Svg {
        let top =
            14.0 + if self.title.is_empty() { 0.0 } else { 24.0 } + if self.subtitle.is_empty() { 0.0 } else { 16.0 };
        let bottom = top + ROW * self.bars.len() as f64;
        let left = self.bars.iter().map(|b| width_of(&b.name)).fold(40.0, f64::max).min(330.0) + 16.0;
        let after = self.bars.iter().map(|b| width_of(&b.text)).fold(30.0, f64::max).min(240.0) + 18.0;
        let right = WIDTH - after;
        let reach = self.bars.iter().filter_map(|b| b.value.map(|v| [v - b.error, v + b.error])).flatten();
        let x = Axis::new(Scale::Linear, reach.chain([0.0]), self.range, left, right);
        let mut svg = Svg::new(WIDTH, bottom + 42.0, &self.title);
        svg.head(&self.title, &self.subtitle);
        for tick in x.ticks() {
            let at = x.place(tick);
            svg.add(&format!("<path class=\"grid\" d=\"M{at:.1} {top:.1}V{bottom:.1}\"/>"));
            svg.text(at, bottom + 16.0, "middle", "soft", &x.label(tick));
        }
        svg.text((left + right) / 2.0, bottom + 34.0, "middle", "", &self.x_name);
        let zero = x.place(self.range.map_or(0.0, |r| r.0.max(0.0)));
        for (i, bar) in self.bars.iter().enumerate() {
            let y = top + ROW * i as f64;
            let class = if bar.strong { "strong" } else { "" };
            svg.text(left - 8.0, y + 15.0, "end", class, &shortened(&bar.name, left - 16.0));
            let mut end = zero;
            if let Some(value) = bar.value.filter(|v| v.is_finite()) {
                let at = x.place(value);
                let opacity = if bar.strong { 1.0 } else { 0.55 };
                svg.add(&format!(
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" opacity=\"{opacity}\"/>",
                    zero.min(at),
                    y + 4.0,
                    (at - zero).abs().max(0.5),
                    ROW - 8.0,
                    colour(0)
                ));
                if bar.error > 0.0 {
                    let (a, b) = (x.place(value - bar.error), x.place(value + bar.error));
                    svg.add(&format!(
                        "<path class=\"ink\" d=\"M{a:.1} {0:.1}H{b:.1}m0 -4v8M{a:.1} {1:.1}v8\"/>",
                        y + 11.0,
                        y + 7.0
                    ));
                }
                end = right;
            }
            svg.text(end.max(right) + 12.0, y + 15.0, "start", class, &bar.text);
        }
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::well_formed;
    use super::*;

    #[test]
    fn a_bar_for_every_number_and_a_name_for_every_bar() {
        let bar = |name: &str, value: Option<f64>, error: f64| Bar {
            name: name.to_owned(),
            value,
            error,
            text: "x < y".into(),
            strong: error > 0.0,
        };
        let chart = Bars {
            bars: vec![
                bar("a & b", Some(0.5), 0.1),
                bar("c", None, 0.0),
                bar("d", Some(f64::NAN), 0.0),
                bar("e", Some(-0.2), 0.0),
            ],
            x_name: "share".into(),
            ..Bars::default()
        };
        let text = chart.svg().standalone();
        well_formed(&text);
        // One rectangle is the paper.
        assert_eq!(text.matches("<rect").count(), 1 + 2);
        assert_eq!(text.matches("class=\"ink\"").count(), 1);
        assert!(text.contains(">a &amp; b<") && text.contains(">c<") && text.matches("x &lt; y").count() == 4);
    }

    #[test]
    fn a_longer_number_is_a_longer_bar() {
        let bars = [1.0, 2.0].map(|v| Bar { value: Some(v), ..Bar::default() }).to_vec();
        let text = Bars { bars, ..Bars::default() }.svg().inline();
        let widths: Vec<f64> = text
            .split("<rect")
            .skip(1)
            .map(|r| r.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!((widths[1] / widths[0] - 2.0).abs() < 0.01, "{widths:?}");
    }
}
