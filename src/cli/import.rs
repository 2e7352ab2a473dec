//! `wwwoffle config import`: a configuration of WWWOFFLE 2.9 in our form.

use std::path::Path;

use wwwoffle_config::ImportedConfig;

use super::Terminal;
use super::failure::Failure;
use super::settings::refused;
use crate::base::exit::ExitStatus;

/// Writes the configuration in `old` anew, to `output` or to standard output, and tells what is
/// left out of it.
pub(crate) fn run(
    old: &Path,
    output: Option<&Path>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    let imported = ImportedConfig::load(old).map_err(|faults| refused(&faults))?;
    match output {
        None => terminal.stdout.write_all(imported.text().as_bytes())?,
        Some(output) => {
            imported.save(output).map_err(|faults| refused(&faults))?;
            writeln!(terminal.stdout, "{}", output.display())?;
        }
    }
    for left_out in imported.left_out() {
        writeln!(terminal.stderr, "{left_out}")?;
    }
    Ok(ExitStatus::Done)
}
