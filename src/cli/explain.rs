//! `wwwoffle config explain`: the value of every option for a URL, and where it is set.

use wwwoffle_config::OptionExplanation;
use wwwoffle_url::CanonicalUrl;

use super::VerbContext;
use super::failure::{VerbFailure, VerbResult};
use crate::base::exit::ExitStatus;
use crate::base::shown;

/// Prints a line for each option: its value for `url`, and the place that sets it.
pub(crate) fn run(url: &str, context: &mut VerbContext<'_>) -> VerbResult {
    let parsed = CanonicalUrl::parse(url, &context.settings.local_host()?)
        .map_err(|error| VerbFailure::plain(format_args!("{}: {error}", shown::line(url))))?;
    for explained in context.settings.config()?.explain(&parsed) {
        writeln!(context.terminal.stdout, "{}", line(&explained))?;
    }
    Ok(ExitStatus::Done)
}

fn line(explained: &OptionExplanation) -> String {
    let OptionExplanation { section, key, value, location, rule } = explained;
    let place = location.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
    // If the option is a list of specifications, its value is already the specification that
    // matched. Do not print it twice.
    let rule = rule.as_ref().map(|rule| (rule.spec().to_string(), rule.location()));
    match rule.filter(|(spec, _)| format!("{spec:?}") != *value) {
        Some((spec, at)) => format!("{section}.{key} = {value}  # {place}, for {spec:?} {at}"),
        None => format!("{section}.{key} = {value}  # {place}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::base::exit::ExitStatus;
    use crate::cli::tests::wwwoffle;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes the file that is read")]
    fn every_option_is_listed_with_its_location() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.conf");
        let text = "\
[options]
socket-timeout = \"5m\"

[dont-get]
urls = [
  \"!*://ads.test/about\",
  \"*://ads.test/*\",
]

[[offline-options.for]]
url = \"*://*.test/*\"
dont-request = true
";
        std::fs::write(&file, text).unwrap();
        let config = file.to_str().unwrap();
        let ran = wwwoffle(
            &["--config", config, "config", "explain", "HTTP://ads.test/x"],
            "",
            Path::new("/nowhere"),
        );
        assert_eq!((ran.status, ran.err.as_str()), (ExitStatus::Done, ""));
        for want in [
            format!("options.socket-timeout = \"5m\"  # {config}:2\n"),
            format!("dont-get.urls = \"*://ads.test/*\"  # {config}:7\n"),
            format!(
                "offline-options.dont-request = true  # {config}:12, for \"*://*.test/*\" \
                 {config}:11\n"
            ),
            "options.dns-timeout = \"1m\"  # default\n".to_owned(),
        ] {
            assert!(ran.out.contains(&want), "{want} in {}", ran.out);
        }
        let ran = wwwoffle(
            &["--config", config, "config", "explain", "http://a.test:99999/"],
            "",
            Path::new("/nowhere"),
        );
        assert_eq!(ran.status, ExitStatus::Failed, "{}", ran.out);
    }
}
