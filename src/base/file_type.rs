//! The media types of files that arrive without one.

use wwwoffle_config::{Config, MediaType};

/// Returns the content type of a file by its name: as configured, else the usual one, else the
/// configured default.
#[must_use]
pub fn content_type(config: &Config, name: &str) -> String {
    let options = &config.mime_types;
    let usual = || mime_guess::from_path(name).first_raw();
    let found = options.types.of(name).map(MediaType::as_str).or_else(usual);
    let found = found.unwrap_or(options.default.as_str());
    if found == "text/plain" { "text/plain; charset=utf-8".to_owned() } else { found.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_longest_suffix_decides_the_type() {
        let text = "[mime-types]\ndefault = \"application/octet-stream\"\n\
                    types = { \".ship.html\" = \"text/x-log\", \".log\" = \"text/plain\" }\n";
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        for (name, want) in [
            ("a.ship.html", "text/x-log"),
            ("a.html", "text/html"),
            ("a.HTML", "text/html"),
            ("a.log", "text/plain; charset=utf-8"),
            ("a.svg", "image/svg+xml"),
            ("a.mp4", "video/mp4"),
            ("a.nothing-known", "application/octet-stream"),
            ("README", "application/octet-stream"),
        ] {
            assert_eq!(content_type(&config, name), want, "{name}");
        }
    }
}
