//! Pictures of a choice of k: bars for the terminal, an SVG page of curves and a table of shades.

use std::fmt::Write;

use kinfold::pipeline::KChoice;

const LEFT: f64 = 110.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const CURVE: f64 = 190.0;
const ROW: f64 = 20.0;
const STEP_MOST: f64 = 56.0;
const WIDTH: f64 = 760.0;

/// A bar of a share of `width` characters, in eighths.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The deciding score as a curve with its error, below it every criterion as a row of shades, its choice ringed.
pub fn choice(choice: &KChoice, title: &str) -> String {
    let ks: Vec<usize> = choice.candidates.iter().map(|c| c.k).collect();
    let (first, last) = (ks[0], ks[ks.len() - 1]);
    let step = ((WIDTH - LEFT - RIGHT) / (last - first + 1) as f64).min(STEP_MOST);
    let x = |k: usize| LEFT + (k - first) as f64 * step + step / 2.0;
    let right = LEFT + (last - first + 1) as f64 * step;
    let rows: Vec<_> = choice.criteria.iter().filter(|c| c.k.is_some()).collect();
    let shades = TOP + CURVE + 44.0;
    let height = shades + rows.len() as f64 * ROW + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui,sans-serif\" \
         font-size=\"12\" fill=\"#222\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\">How many clusters? {}: k = {}</text>\
         <text x=\"16\" y=\"46\" fill=\"#555\">curve: {} · shades: every criterion from its worst (light) to its best \
         (dark) k, its choice ringed</text>",
        escape(title),
        choice.recommended.k,
        escape(&choice.recommended.by)
    );
    // What the cannot-links rule out.
    if let Some(lower) = choice.smallest.as_ref().map(|s| s.lower).filter(|&l| l > first) {
        let end = (LEFT + (lower.min(last + 1) - first) as f64 * step).min(right);
        let _ = write!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#f3e3e0\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"#8a4436\">below {lower} some different pair must \
             break</text>",
            end - LEFT,
            CURVE,
            LEFT + 4.0,
            TOP + 14.0
        );
    }
    let _ = write!(
        svg,
        "<rect x=\"{:.1}\" y=\"{TOP}\" width=\"{step:.1}\" height=\"{:.1}\" fill=\"#e4eef8\"/>",
        x(choice.recommended.k) - step / 2.0,
        height - TOP - 24.0
    );
    curve(&mut svg, choice, &x, right);
    for &k in &ks {
        let weight = if k == choice.recommended.k { " font-weight=\"700\"" } else { "" };
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\"{weight}>{k}</text>",
            x(k),
            TOP + CURVE + 20.0
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">k</text>",
        LEFT - 10.0,
        TOP + CURVE + 20.0
    );
    for (at, criterion) in rows.iter().enumerate() {
        let y = shades + at as f64 * ROW;
        let values: Vec<Option<f64>> = criterion
            .values
            .iter()
            .map(|v| v.map(|v| if criterion.loss { -v.value } else { v.value }).filter(|v| v.is_finite()))
            .collect();
        let defined = || values.iter().flatten().copied();
        let (low, high) = (defined().fold(f64::INFINITY, f64::min), defined().fold(f64::NEG_INFINITY, f64::max));
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            y + 14.0,
            escape(&criterion.name)
        );
        for (c, value) in choice.candidates.iter().zip(&values) {
            let Some(value) = value else { continue };
            let share = if high > low { (value - low) / (high - low) } else { 1.0 };
            let opacity = 0.06 + 0.74 * share * share;
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"#1f5f9e\" fill-opacity=\"{opacity:.2}\"/>",
                x(c.k) - step / 2.0 + 2.0,
                y + 2.0,
                step - 4.0,
                ROW - 4.0
            );
            if criterion.k == Some(c.k) {
                let _ = write!(
                    svg,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\" fill=\"none\" stroke=\"#d9541e\" stroke-width=\"2\"/>",
                    x(c.k) - step / 2.0 + 1.0,
                    y + 1.0,
                    step - 2.0,
                    ROW - 2.0
                );
            }
        }
    }
    svg + "</svg>\n"
}

fn curve(svg: &mut String, choice: &KChoice, x: &dyn Fn(usize) -> f64, right: f64) {
    let scores = &choice.recommended.scores;
    let points: Vec<(usize, usize, f64)> = choice
        .candidates
        .iter()
        .enumerate()
        .filter_map(|(at, c)| Some((at, c.k, scores.get(at).copied().flatten().filter(|v| v.is_finite())?)))
        .collect();
    let error = |at: usize| {
        let deciding = choice.criterion(&choice.recommended.by);
        deciding.and_then(|c| c.values[at]).map_or(0.0, |v| v.error)
    };
    let reach = points.iter().flat_map(|&(at, _, v)| [v - error(at), v + error(at)]);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    reach.for_each(|v| (low, high) = (low.min(v), high.max(v)));
    if !(high > low) {
        (low, high) = (low - 0.5, high + 0.5);
    }
    let pad = 0.06 * (high - low);
    let (low, high) = (low - pad, high + pad);
    let y = |v: f64| TOP + CURVE * (1.0 - (v - low) / (high - low));
    for tick in 0..=4 {
        let value = low + (high - low) * f64::from(tick) / 4.0;
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {0:.1}H{right:.1}\" stroke=\"#ddd\"/><text x=\"{1:.1}\" y=\"{2:.1}\" text-anchor=\"end\" fill=\"#555\">{value:.2}</text>",
            y(value),
            LEFT - 10.0,
            y(value) + 4.0
        );
    }
    let path: Vec<String> = points.iter().map(|&(_, k, v)| format!("{:.1} {:.1}", x(k), y(v))).collect();
    if !path.is_empty() {
        let _ = write!(svg, "<path d=\"M{}\" fill=\"none\" stroke=\"#1f5f9e\" stroke-width=\"2\"/>", path.join("L"));
    }
    for &(at, k, v) in &points {
        let e = error(at);
        if e > 0.0 {
            let _ = write!(svg, "<path d=\"M{0:.1} {1:.1}V{2:.1}\" stroke=\"#1f5f9e\"/>", x(k), y(v - e), y(v + e));
        }
        let chosen = k == choice.recommended.k;
        let (radius, fill) = if chosen { (6, "#d9541e") } else { (4, "#1f5f9e") };
        let _ = write!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{fill}\"/>", x(k), y(v));
    }
}
