//! Logs go to a file only: the screen belongs to the views, stdout to documents.

use super::World;
use std::fs::{File, OpenOptions};
use std::path::Path;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A log larger than this is begun anew; one old one is kept.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Starts the log `nameplate.log` in the state folder. `NAMEPLATE_LOG` says what is logged, as targets and levels
/// (`debug`, `nameplate::probe=trace`); warnings where it says nothing valid. Without a folder nothing is logged.
pub(super) fn start(world: &World) {
    let Some(folder) = &world.folders.state else {
        return;
    };
    let targets = (world.env)("NAMEPLATE_LOG")
        .and_then(|text| text.parse::<Targets>().ok())
        .unwrap_or_else(|| Targets::new().with_default(tracing::Level::WARN));
    if let Ok(file) = open(folder) {
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(std::sync::Mutex::new(file));
        // A second start in one process (tests) keeps the first log.
        let _ = tracing_subscriber::registry()
            .with(targets)
            .with(layer)
            .try_init();
    }
}

fn open(folder: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::create_dir_all(folder)?;
    let path = folder.join("nameplate.log");
    if std::fs::metadata(&path).is_ok_and(|meta| meta.len() > MAX_BYTES) {
        std::fs::rename(&path, folder.join("nameplate.log.1"))?;
    }
    // Command lines of processes may stand in it: only for its owner.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}
