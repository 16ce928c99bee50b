//! A table of shades: how far each cluster is from the whole in each feature, above in one colour, below in another, the
//! number written in every cell.

use super::{Svg, shortened, width_of};

/// Rows × columns of signed numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heat {
    /// Above everything.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Name and numbers of each row.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// The number at which a shade is full.
    pub full: f64,
}

const ROW: f64 = 22.0;

impl Heat {
    /// Draws it.
    pub fn svg(&self) -> Svg {
        let left = self.rows.iter().map(|r| width_of(&r.0)).fold(60.0, f64::max).min(260.0) + 20.0;
        let cell = ((720.0 - left - 10.0) / self.columns.len().max(1) as f64).clamp(46.0, 112.0);
        let longest = self.columns.iter().map(|c| width_of(c)).fold(0.0, f64::max).min(180.0);
        let tilted = longest > cell - 4.0;
        let top = 56.0 + if tilted { longest * 0.75 + 6.0 } else { 18.0 };
        let width = left + cell * self.columns.len() as f64 + if tilted { longest * 0.7 } else { 10.0 };
        let mut svg = Svg::new(width.max(420.0), top + ROW * self.rows.len() as f64 + 10.0, &self.title);
        svg.head(&self.title, &self.subtitle);
        for (c, name) in self.columns.iter().enumerate() {
            let x = left + cell * (c as f64 + 0.5);
            let short = shortened(name, longest);
            if tilted {
                svg.add(&format!(
                    "<text x=\"{x:.1}\" y=\"{0:.1}\" transform=\"rotate(-45 {x:.1} {0:.1})\">{1}</text>",
                    top - 6.0,
                    crate::escape(&short)
                ));
            } else {
                svg.text(x, top - 6.0, "middle", "", &short);
            }
        }
        for (r, (name, values)) in self.rows.iter().enumerate() {
            let y = top + ROW * r as f64;
            svg.text(left - 8.0, y + 15.0, "end", "", &shortened(name, left - 20.0));
            for (c, value) in values.iter().enumerate() {
                let Some(value) = value.filter(|v| v.is_finite()) else { continue };
                let share = (value.abs() / self.full.max(1e-12)).min(1.0);
                let colour = if value < 0.0 { "#0072b2" } else { "#d55e00" };
                svg.add(&format!(
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\" fill-opacity=\"{:.2}\"/>",
                    left + cell * c as f64 + 1.0,
                    y + 1.0,
                    cell - 2.0,
                    ROW - 2.0,
                    0.75 * share
                ));
                let text = format!("{value:+.1}").replace('-', "−");
                let text = if text == "+0.0" || text == "−0.0" { "0" } else { &text };
                svg.text(
                    left + cell * (c as f64 + 0.5),
                    y + 15.0,
                    "middle",
                    if share < 0.15 { "soft" } else { "" },
                    text,
                );
            }
        }
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::well_formed;
    use super::*;

    #[test]
    fn every_number_is_a_shade_and_is_written_out() {
        let heat = Heat {
            title: "t".into(),
            columns: vec!["<length>".into(), "width".into()],
            rows: vec![("a & b".into(), vec![Some(1.26), Some(-2.0)]), ("c".into(), vec![None, Some(0.01)])],
            full: 2.0,
            ..Heat::default()
        };
        let text = heat.svg().standalone();
        well_formed(&text);
        assert_eq!(text.matches("fill-opacity").count(), 3);
        for word in [">+1.3<", ">−2.0<", ">0<", "&lt;length&gt;", "a &amp; b"] {
            assert!(text.contains(word), "{word}");
        }
        // Above and below differ in sign, not in colour alone.
        assert!(text.contains("#0072b2\" fill-opacity=\"0.75\""));
    }

    #[test]
    fn long_names_are_tilted_and_cut_and_leave_no_cell_out() {
        let name = "a very long name of a column that nobody would write";
        let heat = Heat {
            columns: vec![name.into(); 12],
            rows: vec![(name.into(), vec![Some(1.0); 12])],
            full: 1.0,
            ..Heat::default()
        };
        let text = heat.svg().standalone();
        well_formed(&text);
        assert_eq!((text.matches("rotate(").count(), text.matches("fill-opacity").count()), (12, 12));
        assert!(!text.contains(name) && text.contains('…'));
    }
}
