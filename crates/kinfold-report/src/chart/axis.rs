//! From values to places: linear and logarithmic axes with ticks at round numbers.

use super::Svg;
use crate::number;

/// How an axis is spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors; values that are not positive are left out.
    Log,
}

/// An axis with its range of values and of places.
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// For these values, or exactly for `range`. `from` and `to` are the places of the lowest and highest value.
    pub(super) fn new(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        range: Option<(f64, f64)>,
        from: f64,
        to: f64,
    ) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0)) {
            (low, high) = (low.min(v), high.max(v));
        }
        if let Some(range) = range {
            (low, high) = range;
        }
        if !(low <= high) {
            (low, high) = if scale == Scale::Log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if low == high {
            (low, high) = match scale {
                Scale::Log => (low / 2.0, high * 2.0),
                Scale::Linear => (low - 0.5, high + 0.5),
            };
        }
        let mut axis = Axis { scale, low, high, from, to };
        if range.is_none() {
            axis.widen();
        }
        axis
    }

    /// To the next ticks, so that no curve leaves the picture.
    fn widen(&mut self) {
        match self.scale {
            Scale::Linear => {
                let step = step(self.low, self.high);
                self.low = (self.low / step + 1e-9).floor() * step;
                self.high = (self.high / step - 1e-9).ceil() * step;
            }
            Scale::Log => {
                let whole = (self.high / self.low).log10() > 1.0;
                if whole {
                    self.low = 10f64.powf(self.low.log10().floor());
                    self.high = 10f64.powf(self.high.log10().ceil());
                } else {
                    (self.low, self.high) = (self.low / 1.15, self.high * 1.15);
                }
            }
        }
    }

    pub(super) fn takes(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(1e-300) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + (self.to - self.from) * share.clamp(-0.02, 1.02)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.low, self.high);
                let first = (self.low / step - 1e-9).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Scale::Log => {
                let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
                let within: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let all = (first..=last).flat_map(|p| within.iter().map(move |f| f * 10f64.powi(p)));
                all.filter(|v| *v >= self.low * 0.999 && *v <= self.high * 1.001).collect()
            }
        }
    }

    pub(super) fn label(&self, tick: f64) -> String {
        match tick.abs() {
            a if a >= 1e6 => format!("{} M", number(tick / 1e6)),
            a if a >= 1e4 => format!("{} k", number(tick / 1e3)),
            a if self.scale == Scale::Log && a < 1e-3 && a > 0.0 => format!("{tick:.0e}").replace('-', "−"),
            _ => number((tick * 1e9).round() / 1e9),
        }
    }
}

/// 1, 2 or 5 times a power of ten, for four to eight steps.
fn step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough * 0.8).unwrap_or(10.0);
    factor * power
}

/// Grid, ticks and names of a pair of axes.
pub(super) fn draw(svg: &mut Svg, x: &Axis, y: &Axis, x_name: &str, y_name: &str) {
    let (left, right, bottom, top) = (x.from, x.to, y.from, y.to);
    for tick in y.ticks() {
        let at = y.place(tick);
        svg.add(&format!("<path class=\"grid\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>"));
        svg.text(left - 8.0, at + 4.0, "end", "soft", &y.label(tick));
    }
    let ticks = x.ticks();
    for &tick in &ticks {
        let at = x.place(tick);
        svg.add(&format!("<path class=\"axis\" d=\"M{at:.1} {bottom:.1}v4\"/>"));
        svg.text(at, bottom + 18.0, "middle", "soft", &x.label(tick));
    }
    svg.add(&format!("<path class=\"axis\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>"));
    svg.text((left + right) / 2.0, bottom + 38.0, "middle", "", x_name);
    svg.text(left - 46.0, top - 14.0, "start", "", y_name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, values: &[f64]) -> Axis {
        Axis::new(scale, values.iter().copied(), None, 0.0, 100.0)
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        assert_eq!(axis(Scale::Linear, &[0.03, 0.97]).ticks().len(), 6);
        let ticks = axis(Scale::Linear, &[0.0, 400.0]).ticks();
        assert_eq!((ticks[0], ticks[ticks.len() - 1]), (0.0, 400.0));
        let ticks = axis(Scale::Log, &[1e3, 1e6]).ticks();
        assert_eq!(ticks.len(), 4);
        assert_eq!(axis(Scale::Log, &[1e3, 1e6]).label(1e6), "1 M");
    }

    #[test]
    fn odd_values_still_give_an_axis() {
        for values in [&[][..], &[3.0], &[f64::NAN, f64::INFINITY], &[0.0, 0.0]] {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = axis(scale, values);
                assert!(axis.place(3.0).is_finite());
                assert!(axis.ticks().len() < 50);
            }
        }
    }

    #[test]
    fn equal_factors_are_equally_far_apart_on_a_log_axis() {
        let axis = axis(Scale::Log, &[1.0, 1000.0]);
        let gap = |a: f64, b: f64| axis.place(b) - axis.place(a);
        assert!((gap(1.0, 10.0) - gap(10.0, 100.0)).abs() < 1e-9);
    }
}
