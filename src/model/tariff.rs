//! How a platform turns seconds into money: the rules that are built in, and the tariff that holds for this rental.

use super::config::Granularity;
use super::cost::Phase;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What becomes of a quantum that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// It is billed.
    #[default]
    Up,
    /// It is billed from its half on.
    Nearest,
    /// Seconds are billed as they are.
    None,
}

impl Rounding {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Nearest => "nearest",
            Self::None => "none",
        }
    }
}

/// When seconds are rounded and charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settlement {
    /// Once, at the end.
    #[default]
    End,
    /// On each hour of the clock, each settlement rounded on its own.
    Hour,
}

impl Settlement {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Hour => "hour",
        }
    }
}

/// What an hour of a phase costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PhasePrice {
    /// A share of the price: 1 in full, 0 not billed.
    Share(Decimal),
    /// An amount of its own per hour of the instance.
    PerHour(Decimal),
}

impl PhasePrice {
    /// At the full price.
    pub const FULL: Self = Self::Share(Decimal::ONE);
    /// Not billed.
    pub const FREE: Self = Self::Share(Decimal::ZERO);

    /// Whether seconds of the phase count as billed.
    #[must_use]
    pub fn is_billed(self) -> bool {
        match self {
            Self::Share(share) => !share.is_zero(),
            Self::PerHour(amount) => !amount.is_zero(),
        }
    }
}

/// A discount: billed time after this much of it costs the price times the factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// From when on.
    pub after: Duration,
    /// By what the price is multiplied.
    pub factor: Decimal,
}

/// Time bought in advance: the first billed seconds cost what was paid for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepaid {
    /// How much time.
    pub time: Duration,
    /// What it cost; zero where it cost nothing.
    pub amount: Decimal,
}

/// A payment in advance for a term, spread evenly over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upfront {
    /// How much.
    pub amount: Decimal,
    /// For how long.
    pub term: Duration,
}

/// What is billed beside the instance's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtraKind {
    /// Disks, by time.
    Storage,
    /// Traffic, by volume.
    Traffic,
}

impl ExtraKind {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Traffic => "traffic",
        }
    }
}

/// A line beside the instance's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// For what.
    pub kind: ExtraKind,
    /// Per hour (storage), or per 10^9 bytes (traffic, both ways together).
    pub price: Decimal,
}

/// What the user says of the tariff beyond price and granularity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Terms {
    /// A rule by its id, or by its platform's.
    pub rule: Option<Arc<str>>,
    /// Discounts, in any order.
    pub tiers: Vec<Tier>,
    /// What phases cost, where that is not what the rule says; in the order of `Phase::ALL`.
    pub phases: [Option<PhasePrice>; 5],
    /// Time bought in advance.
    pub prepaid: Option<Prepaid>,
    /// A payment in advance.
    pub upfront: Option<Upfront>,
    /// Lines beside the instance's time.
    pub extras: Vec<Extra>,
    /// What an hour costs while the instance is stopped.
    pub stopped_per_hour: Option<Decimal>,
}

/// How seconds become money for this rental: a rule with what the user said over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tariff {
    /// The rule's id; `started_seconds` and the like where only the granularity is known.
    pub rule: Arc<str>,
    /// Whether the rule is known from a source that can be named; `false` also for a guess.
    pub verified: bool,
    /// Seconds in a quantum.
    pub quantum_s: u32,
    /// What becomes of a quantum that has begun.
    pub rounding: Rounding,
    /// Seconds that are billed at least.
    pub minimum_s: u32,
    /// What is charged at least.
    pub minimum_amount: Decimal,
    /// When seconds are rounded.
    pub settlement: Settlement,
    /// The platform's zone, in seconds east of Greenwich: where its hours begin.
    pub offset_s: i32,
    /// What phases cost, in the order of `Phase::ALL`.
    pub phases: [PhasePrice; 5],
    /// Discounts, the earliest first.
    pub tiers: Vec<Tier>,
    /// Time bought in advance.
    pub prepaid: Option<Prepaid>,
    /// A payment in advance.
    pub upfront: Option<Upfront>,
    /// Lines beside the instance's time.
    pub extras: Vec<Extra>,
    /// What an hour costs while the instance is stopped, where the user says so.
    pub stopped_per_hour: Option<Decimal>,
    /// What the rule says of a stopped instance, in words.
    pub stopped: Option<Arc<str>>,
}

impl Tariff {
    /// The tariff of a granularity alone: begun quanta at the full price.
    #[must_use]
    pub fn started(granularity: Granularity) -> Self {
        Self {
            rule: format!("started_{}s", granularity.word()).into(),
            verified: true,
            quantum_s: granularity.whole_seconds(),
            rounding: Rounding::Up,
            minimum_s: 0,
            minimum_amount: Decimal::ZERO,
            settlement: Settlement::End,
            offset_s: 0,
            phases: [PhasePrice::FULL; 5],
            tiers: Vec::new(),
            prepaid: None,
            upfront: None,
            extras: Vec::new(),
            stopped_per_hour: None,
            stopped: None,
        }
    }

    /// The tariff that holds: the user's granularity and terms over the rule, the rule over started seconds.
    #[must_use]
    pub fn resolve(
        rule: Option<&BillingRule>,
        granularity: Option<Granularity>,
        terms: &Terms,
    ) -> Self {
        let mut tariff = Self::started(granularity.unwrap_or_default());
        if let Some(rule) = rule {
            rule.lay_over(&mut tariff);
            if let Some(granularity) = granularity {
                tariff.quantum_s = granularity.whole_seconds();
                tariff.rounding = Rounding::Up;
            }
        }
        tariff.tiers.clone_from(&terms.tiers);
        tariff.tiers.sort_by_key(|tier| tier.after);
        for (price, own) in tariff.phases.iter_mut().zip(terms.phases) {
            *price = own.unwrap_or(*price);
        }
        (tariff.prepaid, tariff.upfront) = (terms.prepaid, terms.upfront);
        tariff.extras.clone_from(&terms.extras);
        tariff.stopped_per_hour = terms.stopped_per_hour;
        tariff
    }

    /// What a phase costs.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> PhasePrice {
        let place = Phase::ALL.iter().position(|p| *p == phase);
        place
            .and_then(|place| self.phases.get(place).copied())
            .unwrap_or(PhasePrice::FULL)
    }

    /// The nearest word of the contract for the quantum.
    #[must_use]
    pub const fn granularity(&self) -> Granularity {
        match self.quantum_s {
            0..60 => Granularity::Second,
            60..3600 => Granularity::Minute,
            _ => Granularity::Hour,
        }
    }
}

/// How one platform bills, as it was seen (`assets/billing_rules.toml`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BillingRule {
    /// Its name.
    pub id: Arc<str>,
    /// Platforms that bill so, by the contract's ids.
    pub platforms: Vec<Arc<str>>,
    /// Seconds in a quantum, where known.
    pub quantum_s: Option<u32>,
    /// What becomes of a quantum that has begun.
    pub rounding: Rounding,
    /// Seconds that are billed at least, where known.
    pub minimum_s: Option<u32>,
    /// What is charged at least.
    pub minimum_amount: Option<Decimal>,
    /// When seconds are rounded.
    pub settlement: Settlement,
    /// Where its hours begin, such as `+08:00`.
    pub zone: Arc<str>,
    /// What is billed once billing has begun, in the contract's words.
    pub billed_phases: Vec<Arc<str>>,
    /// Whether the boot before billing's visible begin is billed too.
    pub boot_billed: YesNo,
    /// Whether an instance without work is billed.
    pub idle_billed: YesNo,
    /// Its currency, where there is one.
    pub currency: Option<Arc<str>>,
    /// When billing begins, in words.
    pub starts: Arc<str>,
    /// When it ends.
    pub stops: Arc<str>,
    /// What a stopped instance costs.
    pub stopped: Arc<str>,
    /// How late the bill is.
    pub posted: Option<Arc<str>>,
    /// Whether a source stands for it.
    pub verified: bool,
    /// Which.
    pub source: Arc<str>,
}

/// Yes, no, or nobody said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the words
pub enum YesNo {
    Yes,
    No,
    Unknown,
}

impl BillingRule {
    /// The platform's zone in seconds east of Greenwich.
    #[must_use]
    pub fn offset_s(&self) -> Option<i32> {
        let sign = match self.zone.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, minutes) = self.zone.get(1..)?.split_once(':')?;
        let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
        ((0..=14).contains(&hours) && (0..60).contains(&minutes))
            .then_some(sign * (hours * 3600 + minutes * 60))
    }

    /// Whether seconds of a phase are billed.
    #[must_use]
    pub fn bills(&self, phase: Phase) -> bool {
        self.billed_phases
            .iter()
            .any(|word| **word == *phase.word())
    }

    fn lay_over(&self, tariff: &mut Tariff) {
        tariff.rule = self.id.clone();
        tariff.verified = self.verified && self.quantum_s.is_some();
        tariff.quantum_s = self.quantum_s.unwrap_or(1).max(1);
        tariff.rounding = self.rounding;
        tariff.minimum_s = self.minimum_s.unwrap_or(0);
        tariff.minimum_amount = self.minimum_amount.unwrap_or_default();
        tariff.settlement = self.settlement;
        tariff.offset_s = self.offset_s().unwrap_or(0);
        tariff.phases = Phase::ALL.map(|phase| {
            if self.bills(phase) {
                PhasePrice::FULL
            } else {
                PhasePrice::FREE
            }
        });
        tariff.stopped = Some(self.stopped.clone()).filter(|words| **words != *"unknown");
    }
}

/// Why the rules cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("billing rules: {0}")]
pub struct RulesError(String);

/// All rules.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BillingRules {
    rules: Vec<BillingRule>,
}

const EMBEDDED: &str = include_str!("../../assets/billing_rules.toml");

impl BillingRules {
    /// The rules that are built in.
    ///
    /// # Errors
    /// The text is not in their form; a test keeps the embedded one readable.
    pub fn embedded() -> Result<Self, RulesError> {
        toml::from_str(EMBEDDED).map_err(|e| RulesError(e.message().to_owned()))
    }

    /// A rule by its id, or by the id of a platform that bills so.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&BillingRule> {
        let by_id = self.rules.iter().find(|rule| *rule.id == *name);
        by_id.or_else(|| {
            self.rules
                .iter()
                .find(|rule| rule.platforms.iter().any(|p| **p == *name))
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &BillingRule> {
        self.rules.iter()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_rules_are_readable_and_whole() {
        let rules = BillingRules::embedded().unwrap();
        assert!(rules.iter().count() >= 25);
        for rule in rules.iter() {
            assert!(rule.offset_s().is_some(), "{}: {}", rule.id, rule.zone);
            assert!(!rule.source.is_empty(), "{}", rule.id);
            assert!(rule.quantum_s.is_none_or(|q| q > 0), "{}", rule.id);
            for word in &rule.billed_phases {
                assert!(Phase::ALL.iter().any(|p| *p.word() == **word), "{word}");
            }
            assert!(rule.bills(Phase::Compute), "{}", rule.id);
        }
    }

    #[test]
    fn every_platform_has_its_rule() {
        let rules = BillingRules::embedded().unwrap();
        let platforms = "aws azure gcp alibaba tencent huawei runpod vast lambda autodl paperspace shadeform tensordock \
            fluidstack kaggle modal colab generic";
        for name in platforms.split_whitespace() {
            assert!(rules.find(name).is_some(), "{name}");
        }
        assert_eq!(
            rules.find("runpod").unwrap(),
            rules.find("runpod_pod").unwrap()
        );
        assert!(rules.find("nobody").is_none());
    }

    #[test]
    fn every_descriptor_names_a_rule_that_exists() {
        let rules = BillingRules::embedded().unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/platforms");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let document: toml::Table = toml::from_str(&text).unwrap();
            if let Some(rule) = document.get("rule").and_then(|r| r.as_str()) {
                assert!(rules.find(rule).is_some(), "{rule}");
                count += 1;
            }
        }
        assert!(count >= 15, "{count}");
    }

    #[test]
    fn the_user_stands_over_the_rule() {
        let rules = BillingRules::embedded().unwrap();
        let mut terms = Terms::default();
        terms.phases[1] = Some(PhasePrice::FREE);
        let lambda = rules.find("lambda");
        let own = Tariff::resolve(lambda, None, &terms);
        assert_eq!((own.quantum_s, own.minimum_s), (60, 60));
        assert_eq!(own.phase(Phase::IoWait), PhasePrice::FREE);
        let by_hour = Tariff::resolve(lambda, Some(Granularity::Hour), &terms);
        assert_eq!(by_hour.quantum_s, 3600);
        assert_eq!(by_hour.granularity(), Granularity::Hour);
    }
}
