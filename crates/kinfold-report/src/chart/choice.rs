//! A choice among numbers: the curve that decides with its error, below it every criterion as a row of shades from its
//! worst to its best number, its own choice ringed, and what is ruled out.

use super::axis::{Axis, Scale};
use super::{Svg, colour, shortened, width_of};
use crate::number;

/// What one criterion says of every number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Criterion {
    /// Its name.
    pub name: String,
    /// Its value by candidate.
    pub values: Vec<Option<f64>>,
    /// Less is better.
    pub loss: bool,
    /// What it chooses.
    pub choice: Option<usize>,
}

/// A choice of a number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    /// Above everything.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// What is chosen: "k".
    pub name: String,
    /// Name of the curve.
    pub curve_name: String,
    /// The candidates, ascending.
    pub candidates: Vec<usize>,
    /// Value and error of the curve, by candidate.
    pub curve: Vec<Option<(f64, f64)>>,
    /// The one chosen.
    pub chosen: Option<usize>,
    /// Everything below this is ruled out, and why.
    pub ruled_out: Option<(usize, String)>,
    /// The criteria.
    pub criteria: Vec<Criterion>,
}

const WIDTH: f64 = 720.0;
const CURVE: f64 = 190.0;
const ROW: f64 = 20.0;
const STEP_MOST: f64 = 56.0;

impl Choice {
    /// Draws it.
    pub fn svg(&self) -> Svg {
        let names = self.criteria.iter().map(|c| width_of(&c.name)).fold(46.0, f64::max).min(200.0);
        let left = names + 24.0;
        let (first, last) =
            (self.candidates.first().copied().unwrap_or(1), self.candidates.last().copied().unwrap_or(1));
        let steps = last.saturating_sub(first) + 1;
        let step = ((WIDTH - left - 20.0) / steps as f64).min(STEP_MOST);
        let x = |k: usize| left + (k.clamp(first, last) - first) as f64 * step + step / 2.0;
        let right = left + steps as f64 * step;
        let ruled = self.ruled_out.as_ref().filter(|r| r.0 > first);
        let top = if ruled.is_some() { 94.0 } else { 76.0 };
        let shades = top + CURVE + 44.0;
        let height = shades + self.criteria.len() as f64 * ROW + 14.0;
        let mut svg = Svg::new(WIDTH, height, &format!("{} {}", self.title, self.subtitle));
        svg.head(&self.title, &self.subtitle);
        if let Some((lower, why)) = ruled {
            let end = left + (lower.min(&(last + 1)) - first) as f64 * step;
            svg.add(&format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{CURVE:.1}\" fill=\"#d55e00\" fill-opacity=\"0.16\"/>",
                end - left
            ));
            svg.add("<rect x=\"14\" y=\"51\" width=\"12\" height=\"12\" fill=\"#d55e00\" fill-opacity=\"0.3\"/>");
            svg.text(32.0, 61.0, "start", "soft", why);
        }
        if let Some(k) = self.chosen.filter(|k| (first..=last).contains(k)) {
            svg.add(&format!(
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{step:.1}\" height=\"{:.1}\" fill=\"#56b4e9\" fill-opacity=\"0.2\"/>",
                x(k) - step / 2.0,
                height - top - 10.0
            ));
        }
        self.draw_curve(&mut svg, &x, (left, right), top);
        let widest = width_of(&last.to_string()) + 6.0;
        let every = (widest / step).ceil().max(1.0) as usize;
        for &k in &self.candidates {
            let chosen = self.chosen == Some(k);
            // The chosen one is always named; its neighbours give way to it.
            let crowded = self.chosen.is_some_and(|c| c != k && k.abs_diff(c) < every);
            if chosen || ((k - first) % every == 0 && !crowded) {
                svg.text(x(k), top + CURVE + 20.0, "middle", if chosen { "strong" } else { "soft" }, &k.to_string());
            }
        }
        svg.text(left - 10.0, top + CURVE + 20.0, "end", "", &self.name);
        for (at, criterion) in self.criteria.iter().enumerate() {
            self.draw_criterion(&mut svg, criterion, &x, step, left, shades + at as f64 * ROW);
        }
        svg
    }

    fn draw_curve(&self, svg: &mut Svg, x: &dyn Fn(usize) -> f64, (left, right): (f64, f64), top: f64) {
        let points: Vec<(usize, f64, f64)> = self
            .candidates
            .iter()
            .zip(&self.curve)
            .filter_map(|(&k, v)| {
                v.filter(|v| v.0.is_finite()).map(|v| (k, v.0, if v.1.is_finite() { v.1 } else { 0.0 }))
            })
            .collect();
        let reach = points.iter().flat_map(|p| [p.1 - p.2, p.1 + p.2]);
        let y = Axis::new(Scale::Linear, reach, None, top + CURVE, top);
        for tick in y.ticks() {
            let at = y.place(tick);
            svg.add(&format!("<path class=\"grid\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>"));
            svg.text(left - 10.0, at + 4.0, "end", "soft", &y.label(tick));
        }
        svg.text(left - 10.0, top - 10.0, "start", "", &self.curve_name);
        let path: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y.place(p.1))).collect();
        if !path.is_empty() {
            svg.add(&format!(
                "<path d=\"M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
                path.join("L"),
                colour(0)
            ));
        }
        for &(k, value, error) in &points {
            if error > 0.0 {
                svg.add(&format!(
                    "<path d=\"M{0:.1} {1:.1}V{2:.1}m-4 0h8M{3:.1} {1:.1}h8\" stroke=\"{4}\" fill=\"none\"/>",
                    x(k),
                    y.place(value - error),
                    y.place(value + error),
                    x(k) - 4.0,
                    colour(0)
                ));
            }
            let chosen = self.chosen == Some(k);
            let plus = if error > 0.0 { format!(" ± {}", number(error)) } else { String::new() };
            svg.add(&format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{}\" fill=\"{}\"><title>{}</title></circle>",
                x(k),
                y.place(value),
                if chosen { 6 } else { 4 },
                colour(usize::from(chosen)),
                crate::escape(&format!("{} = {k}: {}{plus}", self.name, number(value)))
            ));
        }
    }

    fn draw_criterion(
        &self,
        svg: &mut Svg,
        criterion: &Criterion,
        x: &dyn Fn(usize) -> f64,
        step: f64,
        left: f64,
        y: f64,
    ) {
        let sign = if criterion.loss { -1.0 } else { 1.0 };
        let defined = || criterion.values.iter().flatten().map(|v| sign * v).filter(|v| v.is_finite());
        let (low, high) = (defined().fold(f64::INFINITY, f64::min), defined().fold(f64::NEG_INFINITY, f64::max));
        svg.text(left - 10.0, y + 14.0, "end", "", &shortened(&criterion.name, left - 24.0));
        let gap = (step * 0.08).min(2.0);
        for (&k, value) in self.candidates.iter().zip(&criterion.values) {
            let Some(value) = value.filter(|v| v.is_finite()) else { continue };
            let share = if high > low { (sign * value - low) / (high - low) } else { 1.0 };
            svg.add(&format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"{}\" \
                 fill-opacity=\"{:.2}\"><title>{}</title></rect>",
                x(k) - step / 2.0 + gap,
                y + 2.0,
                step - 2.0 * gap,
                ROW - 4.0,
                colour(0),
                0.07 + 0.83 * share * share,
                crate::escape(&format!("{} at {} = {k}: {}", criterion.name, self.name, number(value)))
            ));
            if criterion.choice == Some(k) {
                svg.add(&format!(
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\" fill=\"none\" stroke=\"{}\" \
                     stroke-width=\"2\"/>",
                    x(k) - step / 2.0 + gap / 2.0,
                    y + 1.0,
                    step - gap,
                    ROW - 2.0,
                    colour(1)
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::well_formed;
    use super::*;

    fn choice() -> Choice {
        Choice {
            title: "a & b".into(),
            name: "k".into(),
            candidates: vec![2, 3, 5],
            curve: vec![Some((0.1, 0.02)), Some((0.5, 0.0)), None],
            chosen: Some(3),
            ruled_out: Some((3, "below 3 <something> breaks".into())),
            criteria: vec![
                Criterion {
                    name: "S".into(),
                    values: vec![Some(0.2), Some(0.6), Some(f64::NAN)],
                    loss: false,
                    choice: Some(3),
                },
                Criterion { name: "L".into(), values: vec![Some(2.0), None, Some(1.0)], loss: true, choice: Some(5) },
            ],
            ..Choice::default()
        }
    }

    #[test]
    fn every_value_is_a_shade_and_every_choice_a_ring() {
        let text = choice().svg().standalone();
        well_formed(&text);
        assert_eq!(text.matches("rx=\"2\"").count(), 4);
        assert_eq!(text.matches("rx=\"3\"").count(), 2);
        assert_eq!(text.matches("<circle").count(), 2);
        assert!(text.contains("a &amp; b") && text.contains("below 3 &lt;something&gt; breaks"));
        assert!(text.contains("L at k = 5: 1<"));
    }

    #[test]
    fn the_best_of_a_loss_is_the_darkest() {
        let text = choice().svg().inline();
        let shade = |title: &str| {
            let before = &text[..text.find(title).unwrap()];
            let at = before.rfind("fill-opacity=\"").unwrap() + 14;
            before[at..at + 4].parse::<f64>().unwrap()
        };
        assert!(shade("L at k = 5") > 0.8 && shade("L at k = 2") < 0.1);
        assert!(shade("S at k = 3") > 0.8 && shade("S at k = 2") < 0.1);
    }

    #[test]
    fn many_candidates_are_not_all_named_but_the_chosen_one_is() {
        let many = Choice { candidates: (2..=300).collect(), chosen: Some(131), name: "k".into(), ..Choice::default() };
        let text = many.svg().inline();
        assert!(text.contains(">131<") && !text.contains(">132<"));
        assert!(text.matches("<text").count() < 40);
        well_formed(&Choice::default().svg().standalone());
    }

    #[test]
    fn what_is_ruled_out_below_the_first_candidate_is_not_drawn() {
        let mut all = choice();
        all.ruled_out = Some((2, "nothing".into()));
        assert!(!all.svg().inline().contains("nothing"));
    }
}
