//! How the platform was looked for: what `nameplate platforms` tells (contract.md section 5).

use super::platform::{DetectedBy, PlatformView};

/// Where something was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the contract's words
pub enum StepKind {
    Environment,
    Pid1Environment,
    Dmi,
    Metadata,
    Api,
}

impl StepKind {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Pid1Environment => "pid1_environment",
            Self::Dmi => "dmi",
            Self::Metadata => "metadata",
            Self::Api => "api",
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepResult {
    /// It is there, and says that it is this platform.
    Match,
    /// It is there, and says something else.
    NoMatch,
    /// It is not there.
    Absent,
    /// Nobody answered in time.
    TimedOut,
    /// It may not be read, or a key is missing (401, 403).
    Refused,
    /// It was not tried.
    NotAsked,
    /// It was answered with something that is of no use.
    Error,
}

impl StepResult {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::NoMatch => "no_match",
            Self::Absent => "absent",
            Self::TimedOut => "timed_out",
            Self::Refused => "refused",
            Self::NotAsked => "not_asked",
            Self::Error => "error",
        }
    }
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Where.
    pub kind: StepKind,
    /// What was looked for: a variable's name, a file, a method and path. Never a value that could be a secret.
    pub what: String,
    /// What came of it.
    pub result: StepResult,
    /// The answer's status, where one came.
    pub http_status: Option<u16>,
    /// How long it took.
    pub ms: Option<f64>,
    /// More in one English line.
    pub text: Option<String>,
}

/// Something that a platform can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the contract's words
pub enum Gives {
    InstanceId,
    InstanceType,
    Region,
    Price,
    State,
    Notices,
    Claims,
    Bill,
}

impl Gives {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::InstanceId => "instance_id",
            Self::InstanceType => "instance_type",
            Self::Region => "region",
            Self::Price => "price",
            Self::State => "state",
            Self::Notices => "notices",
            Self::Claims => "claims",
            Self::Bill => "bill",
        }
    }
}

/// A key that a platform's calls need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Its name: the variable or file that it usually stands in.
    pub key: String,
    /// Whether one was found.
    pub found: bool,
    /// Where it was found, or where it lies and why it is not used.
    pub place: Option<String>,
}

/// One platform that is known, and what was tried for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The contract's id.
    pub name: String,
    /// The platform's own name.
    pub title: String,
    /// `built-in`, or the file of a user's own.
    pub descriptor: String,
    /// Where what is known of it was read.
    pub source: String,
    /// Something here says that it is this one.
    pub detected: bool,
    /// All that was tried.
    pub steps: Vec<Step>,
    /// What it can say; without any, it is known by detection and tariff only.
    pub gives: Vec<Gives>,
    /// Part of the reading that is code, by its name in the descriptor.
    pub adapter: Option<&'static str>,
    /// The keys that its calls need.
    pub needs: Vec<Need>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlatformReport {
    /// Whether anything was sent over the network.
    pub asked_network: bool,
    /// The platform, and how it is known.
    pub chosen: Option<(String, DetectedBy)>,
    /// What it said.
    pub platform: Option<PlatformView>,
    /// Every platform that is known, in the order in which they are tried.
    pub candidates: Vec<Candidate>,
}
