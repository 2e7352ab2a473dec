//! Metrics in the text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;

/// Content type of the format.
pub(in crate::site) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Type of a metric family.
#[derive(Clone, Copy, Debug)]
pub(in crate::site) enum MetricType {
    /// Only increases, until the program restarts.
    Counter,
    /// Increases and decreases.
    Gauge,
}

/// The text being written.
#[derive(Debug, Default)]
pub(in crate::site) struct Exposition(String);

impl Exposition {
    /// Starts a family. Its name consists of `a`–`z` and `_`; that of a counter ends in `_total`.
    pub(in crate::site) fn family(
        &mut self,
        name: &'static str,
        kind: MetricType,
        help: &str,
    ) -> MetricFamily<'_> {
        let kind = match kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string does not fail.
        let _written = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        MetricFamily { text: &mut self.0, name }
    }

    /// Writes a counter with one value.
    pub(in crate::site) fn counter(&mut self, name: &'static str, help: &str, value: u64) {
        self.family(name, MetricType::Counter, help).value(value);
    }

    /// Writes a gauge with one value.
    pub(in crate::site) fn gauge(&mut self, name: &'static str, help: &str, value: u64) {
        self.family(name, MetricType::Gauge, help).value(value);
    }

    /// Writes a family in which one value is 1 and the others are 0.
    pub(in crate::site) fn state(
        &mut self,
        (name, label): (&'static str, &'static str),
        help: &str,
        all: &[&str],
        is: &str,
    ) {
        let mut family = self.family(name, MetricType::Gauge, help);
        for one in all {
            family.with(label, one, u64::from(*one == is));
        }
    }

    /// Returns the whole text.
    pub(in crate::site) fn text(self) -> String {
        self.0
    }
}

/// A metric family: the values with one name.
#[derive(Debug)]
pub(in crate::site) struct MetricFamily<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl MetricFamily<'_> {
    /// Writes the only value of a family.
    pub(in crate::site) fn value(&mut self, value: u64) {
        let _written = writeln!(self.text, "{} {value}", self.name);
    }

    /// Writes a value with a label.
    pub(in crate::site) fn with(&mut self, label: &'static str, is: &str, value: u64) {
        let is = is.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _written = writeln!(self.text, "{}{{{label}=\"{is}\"}} {value}", self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped() {
        let mut text = Exposition::default();
        text.counter("a_total", "of \\ and\nlines", u64::MAX);
        text.family("b", MetricType::Gauge, "h").with("x", "\"a\\\nb\"", 0);
        text.state(("c", "mode"), "h", &["on", "off"], "off");
        let want = "# HELP a_total of \\\\ and\\nlines\n# TYPE a_total counter\n\
                    a_total 18446744073709551615\n# HELP b h\n# TYPE b gauge\n\
                    b{x=\"\\\"a\\\\\\nb\\\"\"} 0\n# HELP c h\n# TYPE c gauge\n\
                    c{mode=\"on\"} 0\nc{mode=\"off\"} 1\n";
        assert_eq!(text.text(), want);
    }
}
