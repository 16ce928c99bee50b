//! What kinfold shows: charts as SVG, tables, and pages that need nothing but themselves. No engine, no files: numbers and
//! words in, text out. The same tables serve HTML and Markdown.

pub mod chart;
mod page;
mod table;

pub use page::{Block, Page};
pub use table::{Better, Cell, Column, Table};

/// Text made safe for HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Control characters are not allowed in XML, whatever a user's id holds.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A number as people write it: few digits, no exponent where it can be avoided.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let trim = |text: String| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    let text = match value.abs() {
        0.0 => "0".to_owned(),
        a if a >= 1e15 => format!("{value:e}"),
        a if a >= 1000.0 => trim(format!("{value:.0}")),
        a if a >= 100.0 => trim(format!("{value:.1}")),
        a if a >= 1.0 => trim(format!("{value:.2}")),
        a if a >= 0.001 => trim(format!("{value:.3}")),
        _ => format!("{value:.1e}"),
    };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_harmless() {
        assert_eq!(escape("<a & \"b\">\u{1}"), "&lt;a &amp; &quot;b&quot;&gt;\u{fffd}");
    }

    #[test]
    fn numbers_keep_few_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (-2.5, "−2.5"),
            (1234.4, "1234"),
            (100.0, "100"),
            (0.00012, "1.2e−4"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
