//! The flags of every command.

use super::error::CliError;
use super::libraries::Libraries;
use super::value;
use crate::model::Granularity;
use crate::text::Lang;
use crate::ui::theme::ColorChoice;
use crate::units::Currency;
use clap::builder::FalseyValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use rust_decimal::Decimal;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of every command; each may come from `NAMEPLATE_*` except addresses, library paths and `--root`, under which
/// libraries are looked for: whoever sets an environment must not choose what code is loaded or who is asked.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Shared flags")]
pub struct Shared {
    /// How often devices are read, 0.1s to 60s [default: 1s].
    #[arg(long, global = true, env = "NAMEPLATE_INTERVAL", value_name = "DURATION", value_parser = value::interval)]
    pub interval: Option<Duration>,
    /// The configuration file.
    #[arg(long, global = true, env = "NAMEPLATE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Price of the whole instance per hour.
    #[arg(long, global = true, env = "NAMEPLATE_PRICE", value_name = "AMOUNT", allow_negative_numbers = true, value_parser = value::amount)]
    pub price: Option<Decimal>,
    /// Price of each device per hour.
    #[arg(long, global = true, env = "NAMEPLATE_PRICE_PER_DEVICE", value_name = "AMOUNT", allow_negative_numbers = true, value_parser = value::amount)]
    pub price_per_device: Option<Decimal>,
    /// Currency of the price [default: USD].
    #[arg(long, global = true, env = "NAMEPLATE_CURRENCY", value_name = "CODE", value_parser = currency)]
    pub currency: Option<Currency>,
    /// In what steps it is billed: second, minute or hour [default: as the platform's rule says, else second].
    #[arg(long, global = true, env = "NAMEPLATE_GRANULARITY", value_name = "STEP", value_parser = value::granularity)]
    pub granularity: Option<Granularity>,
    /// When billing began (RFC 3339).
    #[arg(long, global = true, env = "NAMEPLATE_SINCE", value_name = "TIME", value_parser = value::time)]
    pub since: Option<jiff::Timestamp>,
    /// What you want to spend.
    #[arg(long, global = true, env = "NAMEPLATE_BUDGET", value_name = "AMOUNT", allow_negative_numbers = true, value_parser = value::amount)]
    pub budget: Option<Decimal>,
    /// Colours; `nameplate themes` lists them [default: dark].
    #[arg(long, global = true, env = "NAMEPLATE_THEME", value_name = "NAME")]
    pub theme: Option<String>,
    /// Only ASCII characters.
    #[arg(long, global = true, env = "NAMEPLATE_ASCII", num_args = 0, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    pub ascii: Option<bool>,
    /// auto, always, never, 16, 256 or truecolor [default: auto].
    #[arg(long, global = true, env = "NAMEPLATE_COLOR", value_name = "WHEN", value_parser = color)]
    pub color: Option<ColorChoice>,
    /// The screen one line after another, for screen readers, simple terminals and pipes: all of it at first and every minute,
    /// what changes in between.
    #[arg(long, global = true, env = "NAMEPLATE_LINEAR", num_args = 0, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    pub linear: Option<bool>,
    /// en or zh-CN [default: as the locale says].
    #[arg(long, global = true, env = "NAMEPLATE_LANG", value_name = "LANG", value_parser = lang)]
    pub lang: Option<Lang>,
    /// Zone of the times on the screen, and of logs that name none [default: local].
    #[arg(long, global = true, env = "NAMEPLATE_TZ", value_name = "ZONE", value_parser = zone_name)]
    pub tz: Option<String>,
    /// Vendors' libraries.
    #[command(flatten)]
    pub libraries: Libraries,
    /// Measure PCIe traffic of Ascend devices: a call that blocks for 100 ms a device, in a process of its own, on bare metal
    /// and in privileged containers only.
    #[arg(long, global = true, env = "NAMEPLATE_DCMI_PCIE", num_args = 0, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    pub dcmi_pcie: Option<bool>,
    /// Where /proc, /sys and the vendors' files are looked for (never from the environment) [default: /].
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Ask no platform who and where this instance is, and what it costs: nothing leaves this host.
    #[arg(long, global = true, env = "NAMEPLATE_NO_PLATFORM", num_args = 0, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    pub no_platform: Option<bool>,
    /// The platform, where it cannot be found out; `nameplate platforms` names them.
    #[arg(long, global = true, env = "NAMEPLATE_PLATFORM", value_name = "NAME")]
    pub platform: Option<String>,
    /// Scheme, host and port that are asked in the platform's place (never from the environment).
    #[arg(long, global = true, value_name = "URL")]
    pub platform_url: Option<String>,
    /// Keep no recording while the screen runs; a recorder that runs already goes on.
    #[arg(long, global = true, env = "NAMEPLATE_NO_RECORD", num_args = 0, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    pub no_record: Option<bool>,
}

impl Shared {
    /// Settles what clap cannot: a price of the instance and one of each device exclude each other, but a flag wins over
    /// the environment.
    ///
    /// # Errors
    /// Both prices come from the same place: wrong usage.
    pub fn settle(&mut self, matches: &ArgMatches) -> Result<(), CliError> {
        if self.price.is_none() || self.price_per_device.is_none() {
            return Ok(());
        }
        let by_flag = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        match (by_flag("price"), by_flag("price_per_device")) {
            (true, false) => self.price_per_device = None,
            (false, true) => self.price = None,
            _ => {
                return Err(CliError::Usage(
                    "--price is of the whole instance and --price-per-device of each device: give one of them".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

fn currency(text: &str) -> Result<Currency, String> {
    text.parse()
}

fn color(text: &str) -> Result<ColorChoice, String> {
    text.parse::<ColorChoice>().map_err(|e| e.to_string())
}

fn lang(text: &str) -> Result<Lang, String> {
    text.parse::<Lang>().map_err(|e| e.to_string())
}

fn zone_name(text: &str) -> Result<String, String> {
    value::zone(text).map(|_| text.to_owned())
}
