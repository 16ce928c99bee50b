//! Parameters written once: the [`params!`](crate::params!) macro makes the struct, its defaults, its checks and the
//! descriptions from which help, docs, forms and Python signatures are made.

use crate::error::{Error, Result};

/// A value that a parameter can take, as text and back.
pub trait Value: Sized + Clone {
    /// What to call such a value: "a whole number", "a number", "yes or no", or the choices.
    fn sort() -> String;
    /// Reads it.
    fn parse(text: &str) -> Option<Self>;
    /// Writes it.
    fn show(&self) -> String;
    /// As a number, where it is one, for range checks.
    fn number(&self) -> Option<f64>;
}

impl Value for usize {
    fn sort() -> String {
        "a whole number".into()
    }
    fn parse(text: &str) -> Option<Self> {
        text.replace('_', "").parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Value for f64 {
    fn sort() -> String {
        "a number".into()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|v: &f64| !v.is_nan())
    }
    fn show(&self) -> String {
        if *self != 0.0 && (self.abs() < 1e-3 || self.abs() >= 1e6) { format!("{self:e}") } else { self.to_string() }
    }
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Value for bool {
    fn sort() -> String {
        "yes or no".into()
    }
    fn parse(text: &str) -> Option<Self> {
        match text {
            "yes" | "true" | "on" | "1" => Some(true),
            "no" | "false" | "off" | "0" => Some(false),
            _ => None,
        }
    }
    fn show(&self) -> String {
        if *self { "yes".into() } else { "no".into() }
    }
    fn number(&self) -> Option<f64> {
        None
    }
}

/// One parameter of a table entry.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Parameter {
    /// Its name, as in `--set name=value`.
    pub name: &'static str,
    /// What it does.
    pub help: String,
    /// The sort of value.
    pub sort: String,
    /// The default, as text.
    pub default: String,
    /// Smallest and largest value allowed.
    pub range: Option<(f64, f64)>,
}

impl Parameter {
    /// The range in words; empty when there is none.
    pub fn range_text(&self) -> String {
        match self.range {
            None => String::new(),
            Some((low, high)) if high == f64::INFINITY => format!("{} or more", Value::show(&low)),
            Some((low, high)) => format!("{} to {}", Value::show(&low), Value::show(&high)),
        }
    }
}

/// A set of parameters with defaults, as [`params!`](crate::params!) makes it.
pub trait Params: Default + Clone {
    /// Their descriptions.
    fn describe() -> Vec<Parameter>;
    /// Sets one by name.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;

    /// Defaults overridden by `name = value` settings.
    fn from_settings(owner: &str, settings: &[(String, String)]) -> Result<Self> {
        let mut params = Self::default();
        for (name, value) in settings {
            params.set(name, value).map_err(|e| match e {
                Error::Parameter(why) => Error::Parameter(format!("{owner}: {why}")),
                other => other,
            })?;
        }
        Ok(params)
    }
}

/// Reads one value and checks its range; the errors are sentences. Used by the macro.
pub fn read<V: Value>(name: &str, text: &str, range: Option<(f64, f64)>) -> Result<V> {
    let value = V::parse(text)
        .ok_or_else(|| Error::Parameter(format!("parameter {name} takes {}, not '{text}'", V::sort())))?;
    if let (Some(number), Some((low, high))) = (value.number(), range)
        && !(low..=high).contains(&number)
    {
        let end = if high == f64::INFINITY { "up".into() } else { format!("to {}", high.show()) };
        return Err(Error::Parameter(format!("parameter {name} takes values from {} {end}, not {text}", low.show())));
    }
    Ok(value)
}

/// The known name that is closest to a misspelt one, if any is close.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |a: &str, b: &str| {
        let b: Vec<char> = b.to_lowercase().chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.to_lowercase().chars().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, &y) in b.iter().enumerate() {
                let substituted = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
            }
        }
        row[b.len()]
    };
    let best = known.map(|k| (distance(name, k), k)).min()?;
    (best.0 <= 1 + name.chars().count() / 4).then_some(best.1)
}

/// The error for a name that is not a parameter. Used by the macro.
pub fn unknown(name: &str, known: &[&str]) -> Error {
    let hint = closest(name, known.iter().copied());
    let hint = hint.map_or_else(|| format!("; it has {}", known.join(", ")), |h| format!("; did you mean '{h}'?"));
    let none = if known.is_empty() { "; it has no parameters".to_owned() } else { hint };
    Error::Parameter(format!("there is no parameter '{name}'{none}"))
}

/// Declares parameters: `name: type = default, low => high, "help";` (the range may be left out).
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[doc = $help:literal])+ $field:ident : $ty:ty = $default:expr $(, $low:expr => $high:expr)? ;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[doc = $help])+ pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $crate::params::Params for $name {
            fn describe() -> Vec<$crate::params::Parameter> {
                #[allow(unused_mut, unused_assignments, unused_variables)]
                let default = Self::default();
                vec![$({
                    #[allow(unused_mut, unused_assignments)]
                    let mut range: Option<(f64, f64)> = None;
                    $(range = Some(($low as f64, $high as f64));)?
                    $crate::params::Parameter {
                        name: stringify!($field),
                        help: [$($help.trim()),+].join(" "),
                        sort: <$ty as $crate::params::Value>::sort(),
                        default: $crate::params::Value::show(&default.$field),
                        range,
                    }
                }),*]
            }

            #[allow(unused_variables)]
            fn set(&mut self, name: &str, value: &str) -> $crate::Result<()> {
                match name.replace('-', "_").as_str() {
                    $(stringify!($field) => {
                        #[allow(unused_mut, unused_assignments)]
                        let mut range: Option<(f64, f64)> = None;
                        $(range = Some(($low as f64, $high as f64));)?
                        self.$field = $crate::params::read(name, value, range)?;
                        Ok(())
                    })*
                    _ => Err($crate::params::unknown(name, &[$(stringify!($field)),*])),
                }
            }
        }
    };
}

/// Declares a choice: an enum whose variants have names on the command line.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant),* }

        impl $crate::params::Value for $name {
            fn sort() -> String {
                [$($text),*].join(" | ")
            }
            fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
            fn show(&self) -> String {
                match self { $($name::$variant => $text.into()),* }
            }
            fn number(&self) -> Option<f64> {
                None
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        /// A colour.
        pub enum Colour { Red = "red", Green = "green" }
    }

    params! {
        /// For the tests.
        pub struct TestParams {
            /// How many.
            count: usize = 10, 1 => 100;
            /// How much.
            amount: f64 = 0.5, 0 => f64::INFINITY;
            /// Which.
            colour: Colour = Colour::Green;
        }
    }

    #[test]
    fn defaults_ranges_and_choices_are_described_once_and_checked() {
        let described = TestParams::describe();
        assert_eq!(described[0].default, "10");
        assert_eq!(described[0].range_text(), "1 to 100");
        assert_eq!(described[1].range_text(), "0 or more");
        assert_eq!(described[2].sort, "red | green");
        let set = |name: &str, value: &str| TestParams::from_settings("test", &[(name.into(), value.into())]);
        assert_eq!(set("count", "7").unwrap().count, 7);
        assert_eq!(set("colour", "red").unwrap().colour, Colour::Red);
        for (name, value, says) in [
            ("count", "0", "test: parameter count takes values from 1 to 100, not 0"),
            ("count", "many", "test: parameter count takes a whole number, not 'many'"),
            ("colour", "blue", "test: parameter colour takes red | green, not 'blue'"),
            ("cuont", "1", "test: there is no parameter 'cuont'; did you mean 'count'?"),
        ] {
            assert_eq!(set(name, value).unwrap_err().to_string(), says);
        }
    }
}
