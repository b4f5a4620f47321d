//! What stands around devices against what their vendors ask of it: versions compared, each floor with its source.

use super::device::{Device, Vendor};
use std::cmp::Ordering;
use std::sync::LazyLock;

/// How binding a floor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloorRule {
    /// The vendor states a minimum, or lists what it supports and this is the least of it.
    Stated,
    /// The vendor released the two together and states no minimum: what is older is untested.
    Paired,
    /// The driver's own file lists what it works with.
    Listed,
}

impl FloorRule {
    /// Its word in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stated => "floor",
            Self::Paired => "paired",
            Self::Listed => "listed",
        }
    }
}

/// A floor that applies to a device, and whether what is there reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Name of the fact that has a floor (`kernel`, `driver`, `cann`...).
    pub fact: &'static str,
    /// What is there. Where several versions are installed, the lowest of those that decide.
    pub value: String,
    /// The least that the vendor asks for.
    pub at_least: String,
    /// How binding that is.
    pub rule: FloorRule,
    /// Name of the fact that asks for it.
    pub because: &'static str,
    /// Its value.
    pub because_value: String,
    /// Whether `value` reaches `at_least`.
    pub holds: bool,
    /// Where the floor comes from.
    pub source: &'static str,
}

/// The facts that are looked for around a vendor's devices, in the order in which they are told; frameworks last.
#[must_use]
pub const fn environment_facts(vendor: Vendor) -> &'static [&'static str] {
    match vendor {
        Vendor::Ascend => &[
            "kernel",
            "distribution",
            "firmware",
            "cann",
            "torch",
            "torch_npu",
            "mindspore",
        ],
        Vendor::Amd => &["kernel", "distribution", "rocm", "torch"],
        Vendor::Gaudi => &[
            "kernel",
            "distribution",
            "firmware",
            "torch",
            "habana_torch_plugin",
        ],
        Vendor::Cambricon => &["kernel", "distribution", "torch", "torch_mlu"],
        _ => &["kernel", "distribution", "torch"],
    }
}

/// Whether a fact is a package that an image has only where somebody installed it: one that is not there is not missing.
#[must_use]
pub fn is_framework(fact: &str) -> bool {
    fact.starts_with("torch") || matches!(fact, "mindspore" | "habana_torch_plugin")
}

/// The name under which a device's driver stands among these facts.
pub const DRIVER_FACT: &str = "driver";
/// What the driver's file says of the firmware that it works with: `[7.0.0,7.5.99]`.
pub const FIRMWARE_RANGE: &str = "compatible_firmware";

/// Every name that a floor or its cause may have.
const NAMES: &[&str] = &[
    "kernel",
    "distribution",
    "driver",
    "firmware",
    "cann",
    "rocm",
    "torch",
    "torch_npu",
    "mindspore",
];

/// A row of the table.
struct Floor {
    vendor: Vendor,
    fact: &'static str,
    distribution: &'static str,
    because: &'static str,
    from: &'static str,
    below: &'static str,
    at_least: &'static str,
    rule: FloorRule,
    source: &'static str,
}

const EMBEDDED: &str = include_str!("../../assets/floors.csv");
static TABLE: LazyLock<Vec<Floor>> = LazyLock::new(|| {
    let rows = EMBEDDED.lines().filter(|line| !line.starts_with('#'));
    rows.skip(1).filter_map(row).collect()
});

/// A line of the embedded table. No cell but the last, the source, has a comma.
fn row(line: &'static str) -> Option<Floor> {
    let mut cells = line.splitn(9, ',');
    let mut cell = || cells.next().map(str::trim);
    let name = |name: &str| NAMES.iter().copied().find(|known| *known == name);
    Some(Floor {
        vendor: Vendor::of_word(cell()?),
        fact: name(cell()?)?,
        distribution: cell()?,
        because: name(cell()?)?,
        from: cell()?,
        below: cell()?,
        at_least: cell()?,
        rule: match cell()? {
            "floor" => FloorRule::Stated,
            "paired" => FloorRule::Paired,
            _ => return None,
        },
        source: cell()?,
    })
}

/// What is installed once for each environment of an image: several versions stand behind one another.
fn versions(value: &str) -> impl Iterator<Item = &str> {
    value.split(", ")
}

/// The floors that apply to a device, each once, in the table's order. A floor whose fact or cause is not known says
/// nothing and is left out.
#[must_use]
pub fn floors(device: &Device) -> Vec<Standing> {
    let known = |name: &str| match name {
        "driver" => device.driver.as_deref().ok(),
        name => {
            let mut details = device.details.iter();
            let detail = details.find(|(known, _)| &**known == name);
            detail.map(|(_, value)| &**value)
        }
    };
    let mut standings: Vec<Standing> = Vec::new();
    let mut newest: Vec<(&Floor, &str)> = Vec::new();
    for floor in TABLE.iter().filter(|floor| floor.vendor == device.vendor) {
        if let Some(cause) = known(floor.because)
            && known("distribution")
                .unwrap_or_default()
                .starts_with(floor.distribution)
            && let Some(version) = versions(cause).find(|version| floor.covers(version))
        {
            let same = |(other, of): &(&Floor, &str)| {
                (other.fact, other.because, *of) == (floor.fact, floor.because, version)
            };
            match newest.iter_mut().find(|row| same(row)) {
                Some(row) if compare(floor.from, row.0.from).is_gt() => row.0 = floor,
                Some(_) => {}
                None => newest.push((floor, version)),
            }
        }
    }
    for (floor, version) in newest {
        if let Some(value) = known(floor.fact) {
            standings.extend(floor.judge(value, version));
        }
    }
    if let (Some(range), Some(firmware)) = (known(FIRMWARE_RANGE), known("firmware")) {
        standings.extend(listed(range, firmware, known("driver").unwrap_or_default()));
    }
    standings
}

impl Floor {
    /// Whether a version of the cause is one that this row is about.
    fn covers(&self, version: &str) -> bool {
        if let Some(build) = self.from.strip_prefix('+') {
            return version
                .split_once('+')
                .is_some_and(|(_, local)| local.starts_with(build));
        }
        compare(version, self.from).is_ge()
            && (self.below.is_empty() || compare(version, self.below).is_lt())
    }

    fn judge(&self, value: &str, because: &str) -> Option<Standing> {
        let at_least = match self.at_least {
            "same release" => release(because)?,
            stated => stated.to_owned(),
        };
        // The least of what is installed decides; what has no version in it cannot be compared.
        let value = versions(value)
            .filter(|value| !tokens(value).is_empty())
            .min_by(|a, b| compare(a, b))?;
        Some(Standing {
            fact: self.fact,
            value: value.to_owned(),
            holds: compare(value, &at_least).is_ge(),
            at_least,
            rule: self.rule,
            because: self.because,
            because_value: because.to_owned(),
            source: self.source,
        })
    }
}

/// Firmware against the ranges that the driver's own file lists.
fn listed(ranges: &str, firmware: &str, driver: &str) -> Option<Standing> {
    let mut pairs = Vec::new();
    for range in ranges.split(']') {
        let (low, high) = match range.trim_start_matches([',', ' ', '[']).split_once(',') {
            Some((low, high)) => (low.trim(), high.trim()),
            None => continue,
        };
        if !tokens(low).is_empty() && !tokens(high).is_empty() {
            pairs.push((low, high));
        }
    }
    let within = |(low, high): &(&str, &str)| {
        compare(firmware, low).is_ge() && compare(firmware, high).is_le()
    };
    let (low, _) = pairs.iter().min_by(|a, b| compare(a.0, b.0))?;
    Some(Standing {
        fact: "firmware",
        value: firmware.to_owned(),
        at_least: (*low).to_owned(),
        rule: FloorRule::Listed,
        because: "driver",
        because_value: driver.to_owned(),
        holds: pairs.iter().any(within),
        source: "compatible_version_fw in the driver's version.info",
    })
}

/// The first three numbers of a version: `1.18.0` of `1.18.0-ee698fb`.
fn release(version: &str) -> Option<String> {
    let numbers: Vec<String> = tokens(version)
        .iter()
        .map_while(|token| (token.0 == 0).then(|| token.1.to_string()))
        .take(3)
        .collect();
    (!numbers.is_empty()).then(|| numbers.join("."))
}

/// A part of a version: what kind it is (before 0: towards a release; after it: behind one), and its number.
type Token = (i8, u64);

/// The parts of the first version in a text: `8.0.RC2`, `hl-gaudi2-1.18.0-fw`, `Ubuntu 22.04.3 LTS`, `2.4.0.post2+cu121`. It
/// ends where something else begins.
fn tokens(text: &str) -> Vec<Token> {
    let begins = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && c != '.')
    };
    let start = text
        .char_indices()
        .filter(|(at, c)| c.is_ascii_digit() && begins(*at))
        .find(|(at, _)| {
            let word = text[*at..].split(['-', ' ', '+', '_', ',']).next();
            word.is_some_and(|word| word.contains('.') || word.bytes().all(|b| b.is_ascii_digit()))
        });
    let Some(rest) = start.and_then(|(at, _)| text.get(at..)) else {
        return Vec::new();
    };
    let end = rest.find(['+', ' ', ',', '(']).unwrap_or(rest.len());
    rest[..end]
        .split(['.', '-', '_'])
        .flat_map(parts)
        .map_while(|token| token)
        .collect()
}

/// `RC2`, `post4`, `17`, and Python's `0rc1`; `None` for what is no part of a version.
fn parts(word: &str) -> Vec<Option<Token>> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = word.split_at(digits);
    let mut parts = Vec::new();
    if digits > 0 {
        parts.push(number.parse().ok().map(|number| (0, number)));
    }
    if !rest.is_empty() {
        let rest = rest.to_ascii_lowercase();
        let kinds = [("alpha", -3), ("beta", -2), ("rc", -1), ("post", 1)];
        let kind = kinds
            .iter()
            .find_map(|(name, kind)| Some((*kind, rest.strip_prefix(name)?)));
        parts.push(kind.and_then(|(kind, number)| match number {
            "" => Some((kind, 0)),
            number => Some((kind, number.parse().ok()?)),
        }));
    }
    parts
}

/// Compares two versions part by part; what one lacks counts as 0, so that 5.15 and 5.15.0 are one.
fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (tokens(a), tokens(b));
    let part = |list: &[Token], at: usize| list.get(at).copied().unwrap_or((0, 0));
    (0..a.len().max(b.len()))
        .map(|at| part(&a, at).cmp(&part(&b, at)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests;
