//! Line plots on logarithmic axes as SVG, without anybody's help.

use std::fmt::Write;

/// A named line.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 55.0;
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];

/// The plot as text of an SVG file.
pub fn svg(title: &str, x_name: &str, y_name: &str, lines: &[Line]) -> String {
    let all = || lines.iter().flat_map(|l| &l.points).filter(|p| p.0 > 0.0 && p.1 > 0.0);
    let span = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) = all().map(of).fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        if low.is_finite() && high > low { (low, high) } else { (0.0, 1.0) }
    };
    let (xs, ys) = (span(|p| p.0), span(|p| p.1));
    let x = |v: f64| LEFT + (v.log10() - xs.0) / (xs.1 - xs.0) * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| HEIGHT - BOTTOM - (v.log10() - ys.0) / (ys.1 - ys.0) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"22\" \
         font-size=\"15\">{title}</text>\n"
    );
    let mut text = |at_x: f64, at_y: f64, anchor: &str, what: &str| {
        let _ = writeln!(out, "<text x=\"{at_x:.1}\" y=\"{at_y:.1}\" text-anchor=\"{anchor}\">{what}</text>");
    };
    for power in xs.0 as i32..=xs.1 as i32 {
        text(x(10f64.powi(power)), HEIGHT - BOTTOM + 18.0, "middle", &number(10f64.powi(power)));
    }
    for power in ys.0 as i32..=ys.1 as i32 {
        text(LEFT - 8.0, y(10f64.powi(power)) + 4.0, "end", &number(10f64.powi(power)));
    }
    text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14.0, "middle", x_name);
    text(LEFT - 60.0, TOP - 6.0, "start", y_name);
    for power in xs.0 as i32..=xs.1 as i32 {
        let at = x(10f64.powi(power));
        let _ = writeln!(out, "<path d=\"M{at:.1} {TOP}V{:.1}\" stroke=\"#ddd\"/>", HEIGHT - BOTTOM);
    }
    for power in ys.0 as i32..=ys.1 as i32 {
        let at = y(10f64.powi(power));
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#ddd\"/>", WIDTH - RIGHT);
    }
    // Names at the ends of the lines, moved apart where they would overlap.
    let mut ends: Vec<(f64, usize)> =
        lines.iter().enumerate().filter_map(|(i, l)| l.points.last().map(|p| (y(p.1), i))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = f64::NEG_INFINITY;
    for (at, i) in ends {
        let (line, colour) = (&lines[i], COLOURS[i % COLOURS.len()]);
        let path: Vec<String> = line.points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y(p.1))).collect();
        let _ = writeln!(out, "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", path.join("L"));
        for p in &line.points {
            let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>", x(p.0), y(p.1));
        }
        last = at.max(last + 15.0);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            WIDTH - RIGHT + 8.0,
            last + 4.0,
            line.name
        );
    }
    out + "</svg>\n"
}

fn number(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 1e3 => format!("{} k", v / 1e3),
        v => format!("{v}"),
    }
}
