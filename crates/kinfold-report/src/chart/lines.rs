//! Lines over one another: learning curves with bands, times on logarithmic axes, scores with error bars.

use super::axis::{Axis, Scale, draw};
use super::{Svg, colour, mark, spread, width_of};

/// How the spread around a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// Not at all.
    #[default]
    None,
    /// A band between `low` and `high`.
    Band,
    /// A bar at every point.
    Bars,
}

/// One point of a line and its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Lower end of the spread.
    pub low: f64,
    /// Upper end of the spread.
    pub high: f64,
}

impl Point {
    /// A point without spread.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y, low: y, high: y }
    }
    /// A point ± something.
    pub fn with(x: f64, y: f64, spread: f64) -> Point {
        Point { x, y, low: y - spread, high: y + spread }
    }
}

/// A named line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its name, written at its end.
    pub name: String,
    /// From left to right.
    pub points: Vec<Point>,
    /// Its spread.
    pub spread: Spread,
    /// Dashed, for what others measured or a bound.
    pub dashed: bool,
    /// Colour and mark of another number than its place in the list (the same method in two charts).
    pub style: Option<usize>,
}

/// Lines over one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineChart {
    /// Above everything.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Name of the horizontal axis.
    pub x_name: String,
    /// Name of the vertical axis.
    pub y_name: String,
    /// Spacing of the horizontal axis.
    pub x_scale: Scale,
    /// Spacing of the vertical axis.
    pub y_scale: Scale,
    /// Fixed range of the vertical axis.
    pub y_range: Option<(f64, f64)>,
    /// The lines.
    pub series: Vec<Series>,
    /// A place on the horizontal axis to point out, with its name.
    pub pointed: Option<(f64, String)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 52.0;

impl LineChart {
    /// Draws it.
    pub fn svg(&self) -> Svg {
        let top =
            34.0 + if self.title.is_empty() { 0.0 } else { 24.0 } + if self.subtitle.is_empty() { 0.0 } else { 16.0 };
        let names = self.series.iter().map(|s| width_of(&s.name)).fold(0.0, f64::max);
        let right = WIDTH - (names + 46.0).clamp(40.0, 300.0);
        let all = || self.series.iter().flat_map(|s| &s.points);
        let reach = |s: &Series, p: &Point| if s.spread == Spread::None { [p.y; 2] } else { [p.low, p.high] };
        let heights = self.series.iter().flat_map(|s| s.points.iter().flat_map(move |p| reach(s, p)));
        let x = Axis::new(self.x_scale, all().map(|p| p.x), None, LEFT, right);
        let y = Axis::new(self.y_scale, heights, self.y_range, HEIGHT - BOTTOM, top);
        let mut svg = Svg::new(WIDTH, HEIGHT, &format!("{} {}", self.title, self.subtitle));
        svg.head(&self.title, &self.subtitle);
        draw(&mut svg, &x, &y, &self.x_name, &self.y_name);
        if let Some((at, name)) = &self.pointed {
            let place = x.place(*at);
            svg.add(&format!(
                "<path class=\"axis\" stroke-dasharray=\"2 4\" d=\"M{place:.1} {top:.1}V{:.1}\"/>",
                HEIGHT - BOTTOM
            ));
            svg.text(place + 5.0, top + 10.0, "start", "soft", name);
        }
        let drawn =
            |s: &Series| -> Vec<Point> { s.points.iter().copied().filter(|p| x.takes(p.x) && y.takes(p.y)).collect() };
        for (i, s) in self.series.iter().enumerate() {
            let (style, points) = (s.style.unwrap_or(i), drawn(s));
            if s.spread == Spread::Band && points.len() > 1 {
                let upper = points.iter().map(|p| format!("{:.1} {:.1}", x.place(p.x), y.place(p.high)));
                let lower = points.iter().rev().map(|p| format!("{:.1} {:.1}", x.place(p.x), y.place(p.low)));
                let path: Vec<String> = upper.chain(lower).collect();
                svg.add(&format!("<path d=\"M{}z\" fill=\"{}\" opacity=\"0.13\"/>", path.join("L"), colour(style)));
            }
        }
        let mut ends = Vec::new();
        for (i, s) in self.series.iter().enumerate() {
            let (style, points) = (s.style.unwrap_or(i), drawn(s));
            let Some(last) = points.last() else { continue };
            ends.push((i, y.place(last.y)));
            let path: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x.place(p.x), y.place(p.y))).collect();
            let dashes = if s.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            svg.add(&format!(
                "<path d=\"M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dashes}/>",
                path.join("L"),
                colour(style)
            ));
            for p in &points {
                if s.spread == Spread::Bars && p.high > p.low {
                    svg.add(&format!(
                        "<path d=\"M{0:.1} {1:.1}V{2:.1}m-4 0h8M{3:.1} {1:.1}h8\" stroke=\"{4}\" fill=\"none\"/>",
                        x.place(p.x),
                        y.place(p.low),
                        y.place(p.high),
                        x.place(p.x) - 4.0,
                        colour(style)
                    ));
                }
                svg.add(&mark(style, x.place(p.x), y.place(p.y), if points.len() > 40 { 2.5 } else { 4.0 }));
            }
        }
        let places = spread(&ends.iter().map(|e| e.1).collect::<Vec<_>>(), 17.0, top, HEIGHT - BOTTOM);
        for ((i, end), at) in ends.iter().zip(places) {
            let (s, style) = (&self.series[*i], self.series[*i].style.unwrap_or(*i));
            svg.add(&format!("<path class=\"grid\" d=\"M{:.1} {end:.1}L{:.1} {at:.1}\"/>", right + 6.0, right + 14.0));
            svg.add(&mark(style, right + 21.0, at, 4.5));
            svg.text(right + 31.0, at + 4.0, "start", "", &s.name);
        }
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_named_and_marked() {
        let line = |name: &str, factor: f64| Series {
            name: name.to_owned(),
            points: (0..5).map(|i| Point::with(f64::from(i), factor * f64::from(i), 0.5)).collect(),
            spread: Spread::Band,
            ..Series::default()
        };
        let chart =
            LineChart { title: "t".into(), series: vec![line("one", 1.0), line("two", 2.0)], ..LineChart::default() };
        let text = chart.svg().standalone();
        super::super::tests::well_formed(&text);
        assert!(text.contains(">one<") && text.contains(">two<"));
        assert_eq!(text.matches("opacity=\"0.13\"").count(), 2);
        assert_eq!(text.matches("<circle").count(), 6);
    }

    #[test]
    fn nothing_to_draw_is_drawn_empty() {
        let nothing = Series { points: vec![Point::new(f64::NAN, 1.0)], ..Series::default() };
        let chart = LineChart { series: vec![nothing], x_scale: Scale::Log, ..LineChart::default() };
        assert!(!chart.svg().inline().contains("NaN"));
    }
}
