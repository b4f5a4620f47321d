//! Where ticks come from.

use super::args::Replay as ReplayArgs;
use super::foreign;
use super::platform::Rented;
use super::{CliError, Settings};
use crate::model::{Config, Feed, Plates, Price, PriceScope, PriceSource, SourceKind, Vendor};
use crate::platform::Beside;
use crate::probe::{HostProbe, Live, LiveOptions, ProbeSpec, Reexec, vendors};
use crate::publish::DemoCase;
use crate::record::LogFeed;
use crate::session::{Session, Start};
use crate::simulate::{Simulation, cases};
use crate::text::nearest;
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The case that `nameplate demo` shows where none is named: it has something to find.
pub(super) const DEMO_CASE: &str = "narrow-link";
/// The same demo each time.
const DEMO_SEED: u64 = 1;
/// What a simulated device costs per hour, where no price is given: nothing of a demo is real.
const DEMO_PRICE_CENTS: i64 = 299;

/// A source that has not been started, and what it is.
pub(super) struct Source {
    /// Yields ticks.
    pub(super) feed: Box<dyn Feed>,
    /// What its ticks are.
    pub(super) kind: SourceKind,
    /// What its session folds with.
    pub(super) config: Config,
    /// Simulated or recorded seconds per real second.
    pub(super) speed: f64,
}

/// The probes of this host, with its platform beside them.
pub(super) fn live(settings: &Settings, rented: &Rented) -> Source {
    let loader_path = std::env::var_os("LD_LIBRARY_PATH");
    let named = |vendor| settings.libraries.of(vendor).is_some();
    let probes = vendors::worth_starting(&settings.root, loader_path.as_ref(), named)
        .into_iter()
        .map(|vendor| probe(vendor, settings, rented))
        .collect();
    let host = HostProbe::new(&settings.root);
    let options = LiveOptions {
        interval: settings.interval,
        root: settings.root.clone(),
        probes,
        host: Some(Box::new(host)),
    };
    let feed = Box::new(Live::new(options));
    Source {
        feed: Box::new(Beside::new(feed, rented.options.clone())),
        kind: SourceKind::Live,
        config: settings.config.clone(),
        speed: 1.0,
    }
}

/// One vendor's probe.
fn probe(vendor: Vendor, settings: &Settings, rented: &Rented) -> ProbeSpec {
    let mut args: Vec<OsString> = ["probe", "--vendor", vendor.word(), "--root"]
        .map(OsString::from)
        .to_vec();
    args.push(settings.root.clone().into_os_string());
    if let Some(library) = settings.libraries.of(vendor) {
        args.extend(["--library".into(), library.clone().into_os_string()]);
    }
    if vendor == Vendor::Ascend && settings.dcmi_pcie {
        args.extend(["--pcie", "on"].map(OsString::from));
    }
    ProbeSpec {
        vendor,
        library: Arc::from(&*library(vendor, settings)),
        launch: Box::new(Reexec {
            args,
            log: settings.log.clone(),
            secrets: rented.secrets.clone(),
        }),
    }
}

/// The library of a vendor, as its probe reports it.
pub(super) fn library(vendor: Vendor, settings: &Settings) -> Cow<'_, str> {
    settings.libraries.of(vendor).map_or_else(
        || vendors::library_name(vendor).into(),
        |path| path.to_string_lossy(),
    )
}

/// The simulation of a case.
///
/// # Errors
/// There is no such case.
pub(super) fn demo(case: Option<&str>, settings: &Settings) -> Result<Source, CliError> {
    let name = case.unwrap_or(DEMO_CASE);
    let about = cases().iter().find(|c| c.name == name);
    let simulation = Simulation::case(name, DEMO_SEED);
    let (Some(about), Some(simulation)) = (about, simulation) else {
        let near = nearest(name, cases().iter().map(|c| c.name));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        return Err(CliError::Usage(format!(
            "demo: there is no case called \"{name}\"{hint}; next: `nameplate demo --list` names them"
        )));
    };
    let mut config = settings.config.clone();
    config.history = about.history;
    config.price.get_or_insert(Price {
        per_hour: Decimal::new(DEMO_PRICE_CENTS, 2),
        scope: PriceScope::Device,
        source: PriceSource::Config,
    });
    Ok(Source {
        feed: Box::new(simulation),
        kind: SourceKind::Demo(about.name.to_owned()),
        config,
        speed: about.speed,
    })
}

/// A log of another program from a time on, or from its beginning.
///
/// # Errors
/// It cannot be read.
pub(super) fn log(args: &ReplayArgs, settings: &Settings) -> Result<Source, CliError> {
    let log = foreign::open("replay", &args.file, &args.columns, settings)?;
    log.timed("replay")?;
    Ok(Source {
        kind: log.kind(&file_name(args)),
        config: log.config(settings),
        feed: Box::new(LogFeed::new(log.import, args.at, args.speed)),
        speed: args.speed,
    })
}

fn file_name(args: &ReplayArgs) -> String {
    args.file.file_name().map_or_else(
        || args.file.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The cases of the demo.
pub(super) fn demo_cases() -> Vec<DemoCase> {
    cases()
        .iter()
        .map(|case| DemoCase {
            name: case.name.to_owned(),
            title: case.title.to_owned(),
            seconds: case.seconds,
            devices: case.devices,
            vendor: case.vendor.to_owned(),
            cause: case.cause.to_owned(),
        })
        .collect()
}

/// A session at its beginning, for the ticks of a source.
///
/// # Errors
/// The embedded table of plates cannot be read.
pub(super) fn session(kind: SourceKind, config: Config) -> Result<Session, CliError> {
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(Session::new(Start::new(config), Arc::new(plates), kind))
}

/// Where the probes' own output goes: beside the log.
pub(super) fn probe_log(state: Option<&PathBuf>) -> Option<PathBuf> {
    state.map(|folder| folder.join("probe.log"))
}
