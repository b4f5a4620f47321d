//! What holds for this run: flags over environment over file over defaults.

use super::config::{AfterLogout, FileSettings, Folders};
use super::libraries::Libraries;
use super::shared::Shared;
use crate::model::{
    BillingStart, BillingStartSource, Config, Price, PriceScope, PriceSource, Terms,
};
use crate::text::Lang;
use crate::ui::glyphs::Charset;
use crate::ui::theme::{ColorChoice, DEFAULT_THEME};
use rust_decimal::Decimal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that flags, environment and file decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What the session folds with.
    pub config: Config,
    /// How often devices are read.
    pub interval: Duration,
    /// How far apart the two samples of `once` are, where a flag or the environment says how often devices are read.
    pub apart: Option<Duration>,
    /// The screen's looks.
    pub screen: ScreenSettings,
    /// Vendors' libraries that are named by hand.
    pub libraries: Libraries,
    /// Whether PCIe traffic of Ascend devices is measured by the call that blocks.
    pub dcmi_pcie: bool,
    /// Where /proc, /sys and the vendors' files are looked for.
    pub root: PathBuf,
    /// The rental platform.
    pub platform: PlatformSettings,
    /// Whether a recording is kept.
    pub record: bool,
    /// What becomes of it when the screen ends; where nobody says: recorded on while a price is known.
    pub after_logout: Option<AfterLogout>,
    /// Where the probes' own output goes.
    pub log: Option<PathBuf>,
}

/// How the screen looks and speaks.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenSettings {
    /// The theme's name.
    pub theme: String,
    /// Where the user's own themes lie.
    pub themes: Option<PathBuf>,
    /// Only ASCII.
    pub ascii: bool,
    /// How many colours.
    pub color: ColorChoice,
    /// One line after another.
    pub linear: bool,
    /// The language.
    pub lang: Lang,
    /// The zone of logs that name none, as it was given; `local` is the system's.
    pub tz: String,
}

/// Who and where this instance is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlatformSettings {
    /// Whether anything is asked.
    pub enabled: bool,
    /// Its name, where it was given.
    pub name: Option<String>,
    /// The name is a flag's (or a variable's), not the file's.
    pub name_by_flag: bool,
    /// Another base address.
    pub url: Option<String>,
    /// The address is a flag's.
    pub url_by_flag: bool,
    /// Where its key lies.
    pub key_file: Option<PathBuf>,
    /// This instance, where the platform does not say.
    pub instance_id: Option<String>,
}

impl Settings {
    /// Puts flags (with the environment's values, which clap has already put below them) over a file over the defaults.
    /// `env` decides language and characters where nobody else does.
    #[must_use]
    pub fn merge(
        shared: &Shared,
        file: FileSettings,
        folders: &Folders,
        env: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let ascii = shared
            .ascii
            .or(file.ascii)
            .unwrap_or_else(|| Charset::detect(&env).is_ascii());
        let lang = shared
            .lang
            .or(file.lang)
            .unwrap_or_else(|| Lang::detect(&env));
        Self {
            config: config(shared, &file),
            interval: shared
                .interval
                .or(file.interval)
                .unwrap_or(Duration::from_secs(1)),
            apart: shared.interval,
            screen: ScreenSettings {
                theme: shared
                    .theme
                    .clone()
                    .or(file.theme)
                    .unwrap_or_else(|| DEFAULT_THEME.to_owned()),
                themes: folders.themes(),
                ascii,
                color: shared.color.or(file.color).unwrap_or_default(),
                linear: shared.linear.or(file.linear).unwrap_or(false),
                lang: lang.for_terminal(ascii),
                tz: shared
                    .tz
                    .clone()
                    .or(file.tz)
                    .unwrap_or_else(|| "local".to_owned()),
            },
            libraries: shared.libraries.clone().or(file.libraries),
            dcmi_pcie: shared.dcmi_pcie.or(file.dcmi_pcie).unwrap_or(false),
            root: shared.root.clone().unwrap_or_else(|| PathBuf::from("/")),
            platform: PlatformSettings {
                enabled: shared
                    .no_platform
                    .map(|no| !no)
                    .or(file.platform_enabled)
                    .unwrap_or(true),
                name: shared.platform.clone().or(file.platform_name),
                name_by_flag: shared.platform.is_some(),
                url_by_flag: shared.platform_url.is_some(),
                url: shared.platform_url.clone().or(file.platform_url),
                key_file: file.platform_key_file,
                instance_id: file
                    .platform_instance_id
                    .or_else(|| env("NAMEPLATE_INSTANCE_ID")),
            },
            record: shared
                .no_record
                .map(|no| !no)
                .or(file.record_enabled)
                .unwrap_or(true),
            after_logout: file.after_logout,
            log: super::source::probe_log(folders.state.as_ref()),
        }
    }

    /// Whether nothing outside of `--root` may be read.
    #[must_use]
    pub fn is_rooted(&self) -> bool {
        self.root != Path::new("/")
    }
}

fn config(shared: &Shared, file: &FileSettings) -> Config {
    let default = Config::default();
    let since_flag = shared.since.map(|at| BillingStart {
        at,
        source: BillingStartSource::Flag,
    });
    let since_file = file.since.map(|at| BillingStart {
        at,
        source: BillingStartSource::Config,
    });
    Config {
        price: price(shared, file),
        currency: shared
            .currency
            .clone()
            .or_else(|| file.currency.clone())
            .unwrap_or(default.currency),
        granularity: shared.granularity.or(file.granularity),
        terms: Terms {
            rule: (shared.platform.as_ref())
                .or(file.rule.as_ref())
                .or(file.platform_name.as_ref())
                .map(|name| name.as_str().into()),
            tiers: file.tiers.clone(),
            phases: file.phases,
            prepaid: file.prepaid,
            upfront: file.upfront,
            extras: file.extras.clone(),
            stopped_per_hour: file.stopped_per_hour,
        },
        grid: file.grid.clone(),
        since: since_flag.or(since_file),
        budget: shared.budget.or(file.budget),
        compute_threshold: file
            .compute_utilization
            .unwrap_or(default.compute_threshold),
        max_idle: file.max_idle.unwrap_or(default.max_idle),
        history: file.history.unwrap_or(default.history),
        thresholds: file.thresholds.clone(),
    }
}

/// A price by flag brings its own scope; the file's scope belongs to the file's price.
fn price(shared: &Shared, file: &FileSettings) -> Option<Price> {
    let price = |per_hour: Decimal, scope, source| Price {
        per_hour,
        scope,
        source,
    };
    let by_flag = shared
        .price
        .map(|p| price(p, PriceScope::Instance, PriceSource::Flag))
        .or_else(|| {
            shared
                .price_per_device
                .map(|p| price(p, PriceScope::Device, PriceSource::Flag))
        });
    by_flag.or_else(|| {
        file.price_per_hour
            .map(|p| price(p, file.price_scope.unwrap_or_default(), PriceSource::Config))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::args::Cli;
    use super::super::config::{SAMPLE, parse};
    use super::*;
    use clap::Parser as _;

    fn settings(args: &[&str], file: &str) -> Settings {
        let cli = Cli::try_parse_from(["nameplate"].iter().chain(args)).unwrap();
        let env = |name: &str| (name == "TERM").then(|| "xterm-256color".to_owned());
        Settings::merge(&cli.shared, parse(file).unwrap(), &Folders::default(), env)
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let file = "[price]\nper_hour = \"1.50\"\nscope = \"device\"\n[screen]\ninterval = \"2s\"\ntheme = \"light\"";
        let from_file = settings(&[], file);
        assert_eq!(from_file.interval, Duration::from_secs(2));
        let price = from_file.config.price.unwrap();
        assert_eq!(
            (price.scope, price.source),
            (PriceScope::Device, PriceSource::Config)
        );
        let by_flag = settings(&["once", "--price", "2.99", "--interval", "5s"], file);
        assert_eq!(by_flag.interval, Duration::from_secs(5));
        assert_eq!(by_flag.screen.theme, "light");
        let price = by_flag.config.price.unwrap();
        assert_eq!(
            (price.scope, price.source),
            (PriceScope::Instance, PriceSource::Flag)
        );
    }

    #[test]
    fn the_sample_says_the_defaults() {
        assert_eq!(settings(&[], SAMPLE), settings(&[], ""));
    }

    /// Without its comments the sample is a file that sets every key.
    #[test]
    fn the_samples_comments_are_valid() {
        let bare: String = SAMPLE
            .lines()
            .map(|line| {
                let example = line.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
                format!("{}\n", example.unwrap_or(line))
            })
            .collect();
        let file = parse(&bare).unwrap();
        let unset = format!("{file:?}").matches("None").count();
        assert_eq!(unset, 0, "a key is not in the sample: {file:?}");
        assert_eq!(file.tiers.len(), 1);
    }
}
