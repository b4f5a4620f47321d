//! A platform as data: how it is recognised, what it is asked, and where in its answers things stand. There are no
//! expressions: what data cannot say is an adapter (see `adapter`), named in the descriptor.

use super::http::{Method, host_of};
use crate::model::{Gives, NoticeKind, PriceScope};
use crate::units::Currency;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The only metadata addresses that are ever asked: of this machine's own link, or names that its platform serves.
const NEAR_HOSTS: [&str; 6] = [
    "169.254.169.254",
    "169.254.0.23",
    "fd00:ec2::254",
    "100.100.100.200",
    "metadata.google.internal",
    "metadata.tencentyun.com",
];

/// Parts of paths behind which live keys or the user's own scripts lie: never asked for, by anybody's descriptor.
const FORBIDDEN: [&str; 12] = [
    "iam",
    "ram",
    "cam",
    "security-credentials",
    "securitykey",
    "identity-credentials",
    "user-data",
    "userdata",
    "customdata",
    "oauth2",
    "service-accounts",
    "attributes",
];

/// What may stand in braces in paths and bodies; `{key}` may stand in headers only.
const PLACEHOLDERS: [&str; 3] = ["{instance}", "{from}", "{to}"];

/// No API is asked for the same thing more often, in seconds.
pub(super) const SLOWEST_FAR_S: u64 = 30;
/// No metadata path is asked more often, in seconds.
pub(super) const FASTEST_NEAR_S: u64 = 5;

/// A platform.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Descriptor {
    /// The contract's id; a user's own may be any of `a-z0-9-`.
    pub(super) name: String,
    /// The platform's own name.
    pub(super) title: String,
    /// Where all of this was read.
    pub(super) source: String,
    /// The billing rule of its tariff, by its id.
    #[serde(default)]
    pub(super) rule: Option<String>,
    /// Reading its answers needs this adapter.
    #[serde(default)]
    pub(super) adapter: Option<String>,
    #[serde(default)]
    pub(super) detect: Detect,
    /// Where its metadata is, as scheme, host and port.
    #[serde(default)]
    pub(super) metadata: Option<String>,
    /// Where its API is.
    #[serde(default)]
    pub(super) api: Option<String>,
    /// The variables that name this instance, the first that is there.
    #[serde(default)]
    pub(super) instance: Vec<String>,
    /// What other variables say outright.
    #[serde(default)]
    pub(super) variable: Vec<Variable>,
    /// Where its key may lie, in order.
    #[serde(default)]
    pub(super) keys: Vec<KeyPlace>,
    #[serde(default)]
    pub(super) token: Option<Token>,
    /// In what prices are, where an answer does not say.
    #[serde(default)]
    pub(super) price: Terms,
    /// What its words for states mean.
    #[serde(default)]
    pub(super) states: BTreeMap<String, State>,
    #[serde(default)]
    pub(super) request: Vec<Request>,
    /// What its instance types have.
    #[serde(default)]
    pub(super) types: Vec<TypeRow>,
}

/// How it is recognised.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Detect {
    /// Sets of variables; one set that is there whole is enough.
    pub(super) environment: Vec<Vec<String>>,
    /// Strings that the firmware gives; one is enough.
    pub(super) dmi: Vec<Dmi>,
}

/// A string of /sys/class/dmi/id.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dmi {
    /// Which file.
    pub(super) file: String,
    /// The whole text...
    #[serde(default)]
    pub(super) is: Option<String>,
    /// ...or how it begins.
    #[serde(default)]
    pub(super) begins: Option<String>,
}

/// What a variable says outright.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) is: Slot,
}

/// Where a key may lie.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum KeyPlace {
    /// A variable.
    Environment(String),
    /// A file that only its owner may read; `~/` is the user's home, `{config}/` the folder of configurations.
    File {
        path: String,
        /// The names that its value may have there; none: the whole text is the key.
        #[serde(default)]
        names: Vec<String>,
    },
}

/// The step before metadata is read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    pub(super) path: String,
    /// Headers of the request for it.
    pub(super) headers: BTreeMap<String, String>,
    /// The header that carries it.
    pub(super) header: String,
    /// How long it is good for, in seconds.
    pub(super) lasts_s: u64,
    /// Where 404 and 405 mean that there are none, reads go without.
    #[serde(default)]
    pub(super) optional: bool,
}

/// In what prices are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Terms {
    pub(super) currency: String,
    pub(super) scope: PriceScope,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            currency: "USD".to_owned(),
            scope: PriceScope::Instance,
        }
    }
}

/// What a state means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// The instance runs.
    pub(super) runs: bool,
    /// Its time is billed at the full price; absent where that is not known.
    #[serde(default)]
    pub(super) billed: Option<bool>,
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    Metadata,
    Api,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    Json,
    Text,
}

/// One request, asked again and again.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) place: Place,
    #[serde(default = "get")]
    pub(super) method: Method,
    pub(super) path: String,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// JSON of a POST.
    #[serde(default)]
    pub(super) body: Option<String>,
    pub(super) form: Form,
    /// How often, in seconds.
    #[serde(default = "usual_s")]
    pub(super) every_s: u64,
    /// 404 means that there is nothing, which is an answer.
    #[serde(default)]
    pub(super) may_be_missing: bool,
    /// It answers when something changes, or after so many seconds.
    #[serde(default)]
    pub(super) waits_s: Option<u64>,
    /// A good answer has this header.
    #[serde(default)]
    pub(super) answer_header: Option<[String; 2]>,
    /// A good answer has this in it.
    #[serde(default)]
    pub(super) success: Option<Success>,
    /// A good answer shows that this is the platform: it begins with one of these (text) or has one of these (JSON).
    #[serde(default)]
    pub(super) proof: Vec<String>,
    /// Only for instances whose name begins so, or not so.
    #[serde(default)]
    pub(super) instance_begins: Option<String>,
    #[serde(default)]
    pub(super) instance_begins_not: Option<String>,
    /// This instance is one of a list.
    #[serde(default)]
    pub(super) pick: Option<Pick>,
    #[serde(default)]
    pub(super) value: Vec<Value>,
    #[serde(default)]
    pub(super) notice: Vec<Notices>,
}

fn get() -> Method {
    Method::Get
}

fn usual_s() -> u64 {
    SLOWEST_FAR_S
}

/// What a good answer says, for platforms that answer failures with 200.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Success {
    pub(super) at: String,
    pub(super) is: String,
}

/// How this instance is found in a list: by its name where that is known, else by this host's own name or address.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pick {
    pub(super) list: String,
    pub(super) id: String,
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    #[serde(default)]
    pub(super) addresses: Vec<String>,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Slot {
    InstanceId,
    InstanceType,
    Region,
    /// The platform's name for this host, as its notices use it.
    Name,
    State,
    BillingStarted,
    Price,
    Currency,
    /// Whether it is rented out as spot.
    Spot,
    DeviceCount,
    Model,
    PcieGeneration,
    PcieWidth,
    PcieRate,
    PowerLimit,
    Utilization,
    Temperature,
}

/// In what a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scale {
    /// As it is: units per hour, a share, watts, bytes per second.
    #[default]
    Plain,
    /// Hundredths.
    Cents,
    /// Thousandths.
    Thousandths,
    /// Of a hundred.
    Percent,
    /// A share up to 1, beyond it percent: a platform whose page says one and whose answers show the other.
    ShareOrPercent,
    /// 10^9.
    Giga,
    /// A time so many minutes ago.
    MinutesAgo,
}

/// Which part of a text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    #[default]
    Whole,
    /// What stands behind the last slash.
    LastSegment,
    /// The same without its last part behind a dash: `us-central1-a` is in `us-central1`.
    RegionOfZone,
    /// Without a last letter: `cn-north-4a` is in `cn-north-4`.
    RegionOfLetter,
}

/// One thing in an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    pub(super) is: Slot,
    /// JSON pointers, the first that has something; none: the whole text. `*` stands for every item of a list: the mean
    /// counts, of temperatures the highest.
    #[serde(default)]
    pub(super) at: Vec<String>,
    #[serde(default)]
    pub(super) scale: Scale,
    #[serde(default)]
    pub(super) part: Part,
    /// The zone of times that name none, such as `+08:00`.
    #[serde(default)]
    pub(super) zone: Option<String>,
    /// Numbers outside of it are not believed; a price in thousandths is then tried as it is.
    #[serde(default)]
    pub(super) plausible: Option<[f64; 2]>,
}

/// What a notice is of, as data writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Preempt,
    Maintenance,
    Retire,
}

impl From<Kind> for NoticeKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Preempt => Self::Preempt,
            Kind::Maintenance => Self::Maintenance,
            Kind::Retire => Self::Retire,
        }
    }
}

/// Notices in an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notices {
    /// The list; without it the whole answer is one notice.
    #[serde(default)]
    pub(super) list: Option<String>,
    /// The platform's number of the notice.
    #[serde(default)]
    pub(super) id: Option<String>,
    /// What it is of: the word at this place (of a text: the text itself) by this table, else `kind`. A word that is in
    /// no table and has no `kind` is no notice.
    #[serde(default)]
    pub(super) word: Option<String>,
    #[serde(default)]
    pub(super) kinds: BTreeMap<String, Kind>,
    #[serde(default)]
    pub(super) kind: Option<Kind>,
    /// When it falls due; of a text: the text itself is the time.
    #[serde(default)]
    pub(super) due: Option<String>,
    #[serde(default)]
    pub(super) zone: Option<String>,
    /// Its words, the first two that are there.
    #[serde(default)]
    pub(super) text: Vec<String>,
    /// Its words where it has none of its own.
    #[serde(default)]
    pub(super) says: Option<String>,
    /// Only where this place has none of these words.
    #[serde(default)]
    pub(super) unless: Option<Unless>,
    /// Only where this list has our `name` in it.
    #[serde(default)]
    pub(super) concerns: Option<String>,
}

/// Words that make a notice none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unless {
    pub(super) at: String,
    pub(super) is: Vec<String>,
}

/// What an instance type has.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeRow {
    pub(super) name: String,
    pub(super) model: String,
    pub(super) count: u32,
}

/// Why a descriptor cannot be used: one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct DescriptorError(String);

impl Descriptor {
    /// Reads and checks a descriptor.
    pub(super) fn parse(text: &str) -> Result<Self, DescriptorError> {
        let descriptor: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                text.get(..span.start)
                    .map_or(1, |before| before.matches('\n').count() + 1)
            });
            let what = error
                .message()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            DescriptorError(format!("line {line}: {what}"))
        })?;
        descriptor.check().map_err(DescriptorError)?;
        Ok(descriptor)
    }

    fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!("name \"{}\" is not of a-z, 0-9 and -", self.name));
        }
        self.price
            .currency
            .parse::<Currency>()
            .map_err(|error| format!("price: {error}"))?;
        if let Some(base) = &self.metadata {
            let host = host_of(base).unwrap_or_default();
            if !NEAR_HOSTS.contains(&host) {
                return Err(format!(
                    "metadata: {host} is no metadata address; an API goes under api"
                ));
            }
        }
        if let Some(base) = &self.api
            && !base.starts_with("https://")
            && !host_of(base).is_some_and(super::http::is_local)
        {
            return Err("api: only https addresses, or this machine's own".to_owned());
        }
        if self
            .adapter
            .as_deref()
            .is_some_and(|name| super::adapter::of(name).is_none())
        {
            return Err("adapter: there is none of this name".to_owned());
        }
        if let Some(token) = &self.token {
            checked_path(&token.path)?;
        }
        self.request
            .iter()
            .try_for_each(|request| self.check_request(request))
    }

    fn check_request(&self, request: &Request) -> Result<(), String> {
        checked_path(&request.path)?;
        let path = &request.path;
        if request.place == Place::Metadata && self.metadata.is_none() {
            return Err(format!("{path}: there is no metadata address"));
        }
        if request.method == Method::Put {
            return Err(format!("{path}: PUT is for the token step only"));
        }
        if request
            .body
            .as_ref()
            .is_some_and(|body| body.contains("{key}"))
        {
            return Err(format!("{path}: {{key}} stands in headers only"));
        }
        let fastest = match request.place {
            Place::Metadata if !request.notice.is_empty() => FASTEST_NEAR_S,
            _ => SLOWEST_FAR_S,
        };
        if request.every_s < fastest {
            return Err(format!("{path}: every_s is less than {fastest}"));
        }
        Ok(())
    }

    /// Whether any of its requests carries a key.
    pub(super) fn needs_key(&self) -> bool {
        let mut headers = self
            .request
            .iter()
            .flat_map(|request| request.headers.values());
        headers.any(|value| value.contains("{key}"))
    }

    /// What it can say.
    pub(super) fn gives(&self) -> Vec<Gives> {
        let mut gives = Vec::new();
        if !self.instance.is_empty() {
            gives.push(Gives::InstanceId);
        }
        let slots = self
            .request
            .iter()
            .flat_map(|r| r.value.iter().map(|v| v.is))
            .chain(self.variable.iter().map(|v| v.is));
        for slot in slots {
            match slot {
                Slot::InstanceId => gives.push(Gives::InstanceId),
                Slot::InstanceType => gives.push(Gives::InstanceType),
                Slot::Region => gives.push(Gives::Region),
                Slot::Price => gives.push(Gives::Price),
                Slot::State => gives.push(Gives::State),
                Slot::DeviceCount
                | Slot::Model
                | Slot::PcieGeneration
                | Slot::PcieWidth
                | Slot::PcieRate
                | Slot::PowerLimit
                | Slot::Utilization
                | Slot::Temperature => gives.push(Gives::Claims),
                Slot::Name | Slot::BillingStarted | Slot::Currency | Slot::Spot => {}
            }
        }
        if self.request.iter().any(|r| !r.notice.is_empty()) {
            gives.push(Gives::Notices);
        }
        if !self.types.is_empty() {
            gives.push(Gives::Claims);
        }
        if let Some(adapter) = self.adapter.as_deref().and_then(super::adapter::of) {
            gives.extend(adapter.gives());
        }
        gives.sort_unstable();
        gives.dedup();
        gives
    }
}

/// Paths begin at the root, lead nowhere forbidden, and have no unknown braces.
fn checked_path(path: &str) -> Result<(), String> {
    if !path.starts_with('/') || path.contains("..") || path.contains("//") {
        return Err(format!("{path}: a path begins with / and has no .. in it"));
    }
    let mut bare = path.to_owned();
    for known in PLACEHOLDERS {
        bare = bare.replace(known, "");
    }
    if bare.contains(['{', '}']) {
        return Err(format!(
            "{path}: only {} stand in braces",
            PLACEHOLDERS.join(", ")
        ));
    }
    let lower = path.to_ascii_lowercase();
    let part = lower
        .split(['/', '?', '&', '=', '%'])
        .find(|part| FORBIDDEN.contains(part));
    match part {
        Some(part) => Err(format!("{path}: {part} is never asked for")),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "descriptor_tests.rs"]
mod tests;
