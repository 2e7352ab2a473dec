//! `wwwoffle config import`: converts a configuration of WWWOFFLE 2.9.

use std::path::Path;

use wwwoffle_config::ImportedConfig;

use super::Terminal;
use super::failure::VerbResult;
use super::settings::config_failure;
use crate::base::exit::ExitStatus;

/// Converts the configuration `old`, writes it to `output` or to standard output, and reports the
/// options left out.
pub(crate) fn run(old: &Path, output: Option<&Path>, terminal: &mut Terminal<'_>) -> VerbResult {
    let imported = ImportedConfig::load(old).map_err(|faults| config_failure(&faults))?;
    match output {
        None => terminal.stdout.write_all(imported.text().as_bytes())?,
        Some(output) => {
            imported.save(output).map_err(|faults| config_failure(&faults))?;
            writeln!(terminal.stdout, "{}", output.display())?;
        }
    }
    for left_out in imported.left_out() {
        writeln!(terminal.stderr, "{left_out}")?;
    }
    Ok(ExitStatus::Done)
}
