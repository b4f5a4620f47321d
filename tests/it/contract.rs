//! The contract from outside: the real program on fake devices, its documents checked as anything outside may rely on
//! them. What each document must say stands in `tests/scenarios/contract`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, reason = "a check that is left out says so")]

use crate::support::nvml::FakeNvml;
use boon::{Compiler, SchemaIndex, Schemas};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::str::FromStr as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Only a hanging program reaches it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    scenario: String,
    #[serde(default)]
    over: String,
    #[serde(default)]
    begins: f64,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    file: Option<String>,
    #[serde(flatten)]
    expected: Expected,
    #[serde(default)]
    step: Vec<Expected>,
}

/// What a document must say; the keys are JSON pointers.
#[derive(Deserialize, Default)]
struct Expected {
    #[serde(default)]
    is: BTreeMap<String, Json>,
    #[serde(default)]
    near: BTreeMap<String, (f64, f64)>,
    #[serde(default)]
    len: BTreeMap<String, usize>,
    /// Values that are there, whatever they are.
    #[serde(default)]
    some: BTreeMap<String, bool>,
    #[serde(default)]
    events: Vec<String>,
}

impl Expected {
    /// What a document does not say, as it must.
    fn misses(&self, document: &Json, seen: &[String]) -> Vec<String> {
        let at = |path: &str| document.pointer(&format!("/{path}"));
        let mut misses = Vec::new();
        for (path, value) in &self.is {
            let wanted = if value == "null" { &Json::Null } else { value };
            if at(path) != Some(wanted) {
                misses.push(format!("{path} is {:?}, not {wanted}", at(path)));
            }
        }
        for (path, (value, slack)) in &self.near {
            let is = at(path).and_then(Json::as_f64);
            if !is.is_some_and(|is| (is - value).abs() <= *slack) {
                misses.push(format!("{path} is {:?}, not {value} ± {slack}", at(path)));
            }
        }
        for (path, length) in &self.len {
            let is = at(path).and_then(Json::as_array).map(Vec::len);
            if is != Some(*length) {
                misses.push(format!("{path} has {is:?} entries, not {length}"));
            }
        }
        for path in self.some.keys() {
            if at(path).is_none_or(Json::is_null) {
                misses.push(format!("{path} is not there"));
            }
        }
        for kind in &self.events {
            if !seen.contains(kind) {
                misses.push(format!("no event {kind}"));
            }
        }
        misses
    }
}

/// The program with a home of its own.
pub(crate) struct Program {
    pub(crate) home: TempDir,
    pub(crate) command: Command,
}

impl Program {
    pub(crate) fn new(args: &[&str]) -> Self {
        Self::under(&[], args)
    }

    /// Behind another program, such as a tracer.
    pub(crate) fn under(front: &[&str], args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_nameplate");
        let mut command = match front.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        command
            .args(args)
            .env_clear()
            .env("HOME", home.path())
            .env("LANG", "C.UTF-8")
            // Whoever rents out the machine of the tests is none of their business.
            .env("NAMEPLATE_NO_PLATFORM", "1")
            .stdin(Stdio::null());
        Self { home, command }
    }

    /// With a platform, which this server stands for.
    pub(crate) fn beside(mut self, server: &crate::support::http::Server) -> Self {
        self.command
            .env_remove("NAMEPLATE_NO_PLATFORM")
            .args(["--platform-url", &server.url()]);
        self
    }

    pub(crate) fn on(mut self, fake: &FakeNvml, begins: f64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let epoch = (now.as_secs_f64() - begins).to_string();
        self.command
            .arg("--nvml-library")
            .arg(fake.library())
            .env("NAMEPLATE_FAKE_NVML_EPOCH", epoch);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// The configuration file at the user's place.
    pub(crate) fn file(self, text: &str) -> Self {
        let folder = self.home.path().join(".config/nameplate");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    pub(crate) fn output(mut self) -> Output {
        self.command.output().unwrap()
    }
}

impl Case {
    fn program(&self, command: &[&str], fake: &FakeNvml) -> Program {
        let mut args: Vec<String> = command.iter().map(|arg| (*arg).to_owned()).collect();
        for arg in &self.args {
            // `-8260s` or `3600s`: a time so far from now.
            let span = arg.strip_suffix('s').and_then(|s| s.parse::<i64>().ok());
            args.push(match span {
                Some(seconds) => {
                    (Timestamp::now() + SignedDuration::from_secs(seconds)).to_string()
                }
                None => arg.clone(),
            });
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut program = Program::new(&args).on(fake, self.begins);
        for (name, value) in &self.env {
            program = program.env(name, value);
        }
        match &self.file {
            Some(text) => program.file(text),
            None => program,
        }
    }

    fn fake(&self) -> FakeNvml {
        FakeNvml::over(&self.scenario, &self.over)
    }
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The schema of snapshots.
pub(crate) struct Schema(Schemas, SchemaIndex);

impl Schema {
    pub(crate) fn of(name: &str) -> Self {
        let mut compiler = Compiler::new();
        // Documents refer to what they share with a snapshot.
        for file in [name, "snapshot"].iter().collect::<BTreeSet<_>>() {
            let path = format!("{}/assets/schema/{file}.json", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).unwrap();
            let json = serde_json::from_str(&text).unwrap();
            compiler
                .add_resource(&format!("{file}.json"), json)
                .unwrap();
        }
        let mut schemas = Schemas::new();
        let index = compiler
            .compile(&format!("{name}.json"), &mut schemas)
            .unwrap();
        Self(schemas, index)
    }

    pub(crate) fn check(&self, document: &Json) -> Vec<String> {
        let fit = self.0.validate(document, self.1);
        fit.err()
            .map(|error| format!("schema: {error:#}"))
            .into_iter()
            .collect()
    }
}

/// What every snapshot keeps to (contract.md section 2), besides its schema.
fn unsound(document: &Json) -> Vec<String> {
    let mut wrong = Vec::new();
    let devices = document["devices"].as_array().unwrap();
    let boards = document["boards"].as_array().unwrap();
    let processes = devices.iter().filter_map(|d| d["processes"].as_array());
    let objects = devices.iter().chain(boards).chain(processes.flatten());
    for object in objects.chain([&document["host"], &document["cost"]]) {
        let mut nulls = Vec::new();
        null_paths("", object, &mut nulls);
        nulls.sort();
        let reasons = object["absent"].as_object().into_iter().flatten();
        let mut reasons: Vec<String> = reasons.map(|(path, _)| path.clone()).collect();
        reasons.sort();
        if nulls != reasons {
            wrong.push(format!("nulls {nulls:?}, but reasons {reasons:?}"));
        }
    }
    let grouped: usize = boards
        .iter()
        .map(|board| board["devices"].as_array().unwrap().len())
        .sum();
    if grouped != devices.len() {
        wrong.push(format!("{grouped} devices on boards of {}", devices.len()));
    }
    wrong.extend(account_errors(&document["cost"]));
    wrong
}

fn null_paths(prefix: &str, value: &Json, found: &mut Vec<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = match prefix {
            "" => name.clone(),
            _ => format!("{prefix}.{name}"),
        };
        match value {
            // Said by the contract to be null where there is none.
            Json::Null if ["parent", "instance", "verdict.since"].contains(&&*path) => {}
            Json::Null => found.push(path),
            other => null_paths(&path, other, found),
        }
    }
}

/// Seconds and money add up.
fn account_errors(cost: &Json) -> Vec<String> {
    let mut wrong = Vec::new();
    let phases = cost["phase_seconds"].as_object().into_iter().flatten();
    let seconds: f64 = phases.filter_map(|(_, s)| s.as_f64()).sum();
    let span = cost["span_seconds"].as_f64().unwrap_or(0.0);
    if (seconds - span).abs() > 0.01 {
        wrong.push(format!("phases of {seconds} s in a span of {span} s"));
    }
    if let (Some(parts), Some(amount)) =
        (cost["phase_amounts"].as_object(), cost["amount"].as_str())
    {
        let decimal = |text: &str| Decimal::from_str(text).unwrap();
        let sum: Decimal = parts
            .values()
            .map(|part| decimal(part.as_str().unwrap()))
            .sum();
        if sum != decimal(amount) {
            wrong.push(format!("parts of {sum} in an amount of {amount}"));
        }
    }
    wrong
}

fn cases(file: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/contract");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    toml::from_str::<Cases>(&text).unwrap().case
}

/// Runs each case, a few at once, and tells all that is wrong.
fn run_all(cases: &[Case], run: impl Fn(&Case, &Schema) -> Vec<String> + Sync) {
    let next = AtomicUsize::new(0);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let schema = Schema::of("snapshot");
                    let mut wrong = Vec::new();
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let found = run(case, &schema);
                        wrong.extend(found.iter().map(|what| format!("{}: {what}", case.name)));
                    }
                    wrong
                })
            })
            .collect();
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.flatten().collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn one_snapshot_says_what_the_driver_says() {
    run_all(&cases("once.toml"), |case, schema| {
        let fake = case.fake();
        let output = case.program(&["once", "--format", "json"], &fake).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !stderr.is_empty() {
            return vec![format!("{}: {stderr}", output.status)];
        }
        let document = match serde_json::from_slice(&output.stdout) {
            Ok(document) => document,
            Err(error) => return vec![format!("not one JSON document: {error}")],
        };
        let mut wrong = schema.check(&document);
        wrong.extend(unsound(&document));
        wrong.extend(case.expected.misses(&document, &[]));
        wrong
    });
}

#[test]
fn a_stream_tells_what_happens() {
    run_all(&cases("stream.toml"), |case, schema| {
        let fake = case.fake();
        let mut program = case.program(&["stream", "--interval", "0.2s"], &fake);
        let mut child = Running(program.command.stdout(Stdio::piped()).spawn().unwrap());
        let stdout = BufReader::new(child.0.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).all(|sent| sent.is_ok())
        });
        let mut steps = case.step.iter();
        let mut step = steps.next();
        let (mut seen, mut misses) = (Vec::new(), vec!["no line came".to_owned()]);
        let end = Instant::now() + DEADLINE;
        while let Some(expected) = step {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = lines.recv_timeout(left) else {
                return misses;
            };
            let document: Json = serde_json::from_str(&line).unwrap();
            let mut wrong = schema.check(&document);
            wrong.extend(unsound(&document));
            if !wrong.is_empty() {
                return wrong;
            }
            let events = document["events"].as_array().unwrap();
            seen.extend(
                events
                    .iter()
                    .filter_map(|e| Some(e["kind"].as_str()?.to_owned())),
            );
            misses = expected.misses(&document, &seen);
            if misses.is_empty() {
                step = steps.next();
                seen.clear();
            }
        }
        Vec::new()
    });
}

/// Every field of a schema with its description, at whatever depth.
fn fields(schema: &Json, found: &mut Vec<(String, bool)>) {
    match schema {
        Json::Object(map) => {
            for (name, field) in map
                .get("properties")
                .and_then(Json::as_object)
                .into_iter()
                .flatten()
            {
                found.push((name.clone(), field["description"].is_string()));
            }
            map.values().for_each(|part| fields(part, found));
        }
        Json::Array(parts) => parts.iter().for_each(|part| fields(part, found)),
        _ => {}
    }
}

/// What a document has beyond the contract is explained where it is declared.
#[test]
fn fields_beyond_the_contract_are_described() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(contract) = std::fs::read_to_string(folder.join("../shared/contract.md")) else {
        println!("ignored: the contract is not here");
        return;
    };
    let words: BTreeSet<&str> = contract
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .collect();
    for file in ["snapshot", "diagnosis", "platforms", "demos"] {
        let path = folder.join(format!("assets/schema/{file}.json"));
        let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut all = Vec::new();
        fields(&schema, &mut all);
        assert!(all.len() >= 12, "{file} has {} fields", all.len());
        let bare: Vec<&String> = all
            .iter()
            .filter(|(name, described)| !described && !words.contains(name.as_str()))
            .map(|(name, _)| name)
            .collect();
        assert!(bare.is_empty(), "{file}: not described: {bare:?}");
    }
}

/// The names of a document that its schema does not declare, with their places.
fn undeclared(document: &Json, declared: &BTreeSet<String>, place: &str, found: &mut Vec<String>) {
    // Their keys are paths, reasons of clocks, or what an event has to tell.
    let free = [
        "absent",
        "absent_detail",
        "age_s",
        "throttle_seconds",
        "data",
        "sources",
    ];
    match document {
        Json::Object(map) => {
            for (name, value) in map {
                let place = format!("{place}.{name}");
                if !declared.contains(name) {
                    found.push(place.clone());
                }
                if !free.contains(&name.as_str()) {
                    undeclared(value, declared, &place, found);
                }
            }
        }
        Json::Array(values) => {
            for value in values {
                undeclared(value, declared, place, found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_of_a_snapshot_is_declared() {
    let path = format!("{}/assets/schema/snapshot.json", env!("CARGO_MANIFEST_DIR"));
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut all = Vec::new();
    fields(&schema, &mut all);
    let declared: BTreeSet<String> = all.into_iter().map(|(name, _)| name).collect();
    for scenario in ["narrow-link", "mig", "foreign-pids", "garbage"] {
        let fake = FakeNvml::named(scenario);
        let args = [
            "once", "--format", "json", "--price", "2.99", "--budget", "9",
        ];
        let output = Program::new(&args).on(&fake, 60.0).output();
        let document = serde_json::from_slice(&output.stdout).unwrap();
        let mut found = Vec::new();
        undeclared(&document, &declared, "", &mut found);
        assert!(found.is_empty(), "{scenario}: {found:?}");
    }
}
