//! The command line: contract.md section 1 as a clap tree.

use super::shared::Shared;
use super::value;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// A full-screen terminal monitor for rented accelerators: power against the nameplate, thermal headroom, PCIe saturation
/// and a running meter.
#[derive(Debug, Parser)]
#[command(
    name = "nameplate",
    version,
    after_help = "Examples:
  nameplate                          the live screen
  nameplate --price 2.99             with a meter: 2.99 USD an hour for the instance
  nameplate demo narrow-link         the screen on simulated devices
  nameplate --linear                 one line after another, for screen readers and pipes
  nameplate once --format json       one document for a script"
)]
pub struct Cli {
    /// What to do; without it: the live screen.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of every command.
    #[command(flatten)]
    pub shared: Shared,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    #[value(alias = "table")]
    Text,
    /// One JSON document, in English.
    Json,
}

/// How a bill is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum AuditFormat {
    /// For people.
    #[default]
    #[value(alias = "table")]
    Text,
    /// One JSON document, in English.
    Json,
    /// One line for each period.
    Csv,
}

/// What an export is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One line for each device and tick.
    Csv,
    /// One JSON document in a line for each tick.
    Jsonl,
    /// A recording, into a file.
    Nmp,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The same screen on an embedded simulation; needs no accelerator
    Demo(Demo),
    /// One snapshot (two samples, so that rates exist)
    Once(Once),
    /// A JSON line per tick until stopped
    Stream(Stream),
    /// The recorder alone
    Record(Record),
    /// The screen on a recording or a log of another program
    Replay(Replay),
    /// A recording or a log of another program as CSV or JSON lines; several recordings as one
    Export(Export),
    /// Verdicts with evidence, live or from a file
    Diagnose(Diagnose),
    /// Static checks of this instance (not in this version)
    Doctor(Doctor),
    /// Our ledger beside the platform's bill (not in this version)
    Audit(Audit),
    /// Run a command, watch it, report at its end (not in this version)
    Run(Run),
    /// Two recordings of the same job side by side, or what two jobs computed
    Compare(Compare),
    /// The platforms it knows; what was found here and why
    Platforms(Platforms),
    /// OpenMetrics on 127.0.0.1:9836 (not in this version)
    Serve(Serve),
    /// The commented sample of the configuration; validation
    Config(ConfigArgs),
    /// List the themes
    #[command(after_help = "Examples:\n  nameplate themes\n  nameplate --theme light")]
    Themes,
    /// Write the completions of a shell to stdout
    #[command(after_help = "Examples:
  nameplate completions bash > ~/.local/share/bash-completion/completions/nameplate
  nameplate completions fish > ~/.config/fish/completions/nameplate.fish")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual page to stdout
    #[command(after_help = "Examples:\n  nameplate man | man -l -\n  nameplate man > nameplate.1")]
    Man,
}

/// `nameplate demo`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate demo                     eight devices, one of them stalled
  nameplate demo drift               a power limit that creeps down over 36 h
  nameplate demo --list              the cases")]
pub struct Demo {
    /// Which case; `--list` names them.
    pub case: Option<String>,
    /// Name the cases.
    #[arg(long)]
    pub list: bool,
    /// How the list is written.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// `nameplate once`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate once
  nameplate once --format json | jq '.devices[] | {index, power_w, power_ratio}'

Exit code 1 where there is no accelerator; the document is written all the same.")]
pub struct Once {
    /// How it is written.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// `nameplate stream`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate stream --interval 5s >> gpu.jsonl
  nameplate stream --count 10 | jq '.devices[0].power_w'
  nameplate stream --for 1h --price 2.99 > run.jsonl")]
pub struct Stream {
    /// Stop after this much time.
    #[arg(long = "for", value_name = "DURATION", value_parser = value::span)]
    pub span: Option<Duration>,
    /// Stop after this many lines.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
}

/// `nameplate record`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate record                   until Ctrl-C, into the user's state folder
  nameplate record --for 36h -o run.nmp
  nameplate record --background --price 2.99      goes on after logout
  nameplate record --status
  nameplate record --stop

A file that is there already is continued. 30 days and 1 GiB are kept, then the oldest goes; its rows by the minute
stay. While it is written, sqlite3 can ask it: sqlite3 -readonly run.nmp 'select * from minutes'")]
pub struct Record {
    /// The recording's file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Survive the logout: a process of its own, in a session of its own.
    #[arg(long)]
    pub background: bool,
    /// Say who records into the file.
    #[arg(long, conflicts_with_all = ["background", "stop", "span"])]
    pub status: bool,
    /// End the recorder of the file, wherever it runs on this host.
    #[arg(long, conflicts_with_all = ["background", "span"])]
    pub stop: bool,
    /// What `--background` starts.
    #[arg(long, hide = true, conflicts_with_all = ["background", "status", "stop"])]
    pub detached: bool,
    /// Stop after this much time.
    #[arg(long = "for", value_name = "DURATION", value_parser = value::span)]
    pub span: Option<Duration>,
}

/// `nameplate replay`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate replay run.nmp --speed 60
  nameplate replay run.nmp --at 2026-03-01T12:00:00Z
  nameplate replay gpu.csv --tz Asia/Shanghai

Space holds it, + and - change the speed, [ and ] go back and forward, t goes to a time, N and n to the last and next
thing that happened, comma and dot step by one sample; ? names all keys.")]
pub struct Replay {
    /// A recording, or a log: nvidia-smi --query-gpu CSV or dmon, gpu_log.jsonl, nameplate stream.
    pub file: PathBuf,
    /// The columns of a log without a header, by the names of nvidia-smi --query-gpu.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = super::foreign::column_name)]
    pub columns: Vec<String>,
    /// How many recorded seconds pass in one, 0.1 to 10000.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Where to begin.
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub at: Option<jiff::Timestamp>,
}

/// `nameplate export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate export run.nmp --to csv > run.csv
  nameplate export run.nmp --to csv --every 1m --from 2026-03-01T12:00:00Z
  nameplate export run.nmp --to jsonl | jq '.devices[0].power_w'
  nameplate export gpu.csv --to csv --tz UTC > same.csv
  nameplate export a.nmp b.nmp --to nmp -o both.nmp

Several recordings of one instance become one: where they overlap, the one that began earlier counts, until it ends or
pauses; no second counts twice.")]
pub struct Export {
    /// A recording, or several of one instance; or a log (nvidia-smi --query-gpu CSV or dmon, gpu_log.jsonl, nameplate
    /// stream); - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The columns of a log without a header, by the names of nvidia-smi --query-gpu.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = super::foreign::column_name)]
    pub columns: Vec<String>,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// The new recording's file, with `--to nmp`.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the first tick of each period of this length only.
    #[arg(long, value_name = "DURATION", value_parser = value::span)]
    pub every: Option<Duration>,
    /// Begin here (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub from: Option<jiff::Timestamp>,
    /// End here.
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub until: Option<jiff::Timestamp>,
}

/// `nameplate diagnose`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate diagnose                 watch for 30 s, then say what is wrong
  nameplate diagnose --for 5m --price 2.99
  nameplate diagnose run.nmp         every episode of a recording
  nameplate diagnose gpu.csv --tz Asia/Shanghai --format json
  nvidia-smi dmon -o DT -c 60 | nameplate diagnose -
  nameplate diagnose bare.csv --columns timestamp,index,utilization.gpu,power.draw

Logs that are read: nvidia-smi --query-gpu with --format=csv, nvidia-smi dmon, gpu_log.jsonl, nameplate stream.
Exit code 4 if anything that counts is sure, 3 if anything counts, else 0.")]
pub struct Diagnose {
    /// A recording or a log; - is standard input; without it: live.
    pub file: Option<PathBuf>,
    /// The columns of a log without a header, by the names of nvidia-smi --query-gpu.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = super::foreign::column_name)]
    pub columns: Vec<String>,
    /// How long to watch.
    #[arg(long = "for", value_name = "DURATION", default_value = "30s", value_parser = value::span)]
    pub span: Duration,
    /// How it is written.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// `nameplate doctor`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nameplate doctor\n  nameplate doctor --format json")]
pub struct Doctor {
    /// How it is written.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// `nameplate audit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nameplate audit run.nmp --bill usage.csv --rule runpod")]
pub struct Audit {
    /// Recordings or foreign logs.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The platform's bill.
    #[arg(long, value_name = "FILE")]
    pub bill: PathBuf,
    /// The billing rule; without it: the bill's platform, then `--platform`, then the flags.
    #[arg(long, value_name = "ID")]
    pub rule: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: AuditFormat,
}

/// `nameplate run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate run --budget 50 -- python train.py
  nameplate run --attach 4242 --max-idle 20m --report report.json

The exit code is the command's own.")]
pub struct Run {
    /// Where the report goes.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Watch a process that runs already.
    #[arg(long, value_name = "PID", conflicts_with = "argv")]
    pub attach: Option<u32>,
    /// Act when the device has been idle for so long.
    #[arg(long, value_name = "DURATION", value_parser = value::span)]
    pub max_idle: Option<Duration>,
    /// Stop the command on these causes.
    #[arg(long, value_name = "CAUSE", value_delimiter = ',')]
    pub stop_on: Vec<String>,
    /// The command and its arguments.
    #[arg(last = true, required_unless_present = "attach", value_name = "CMD")]
    pub argv: Vec<std::ffi::OsString>,
}

/// `nameplate compare`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nameplate compare a.nmp b.nmp
  nameplate compare h100.nmp ascend.nmp --format json | jq '.rows[] | {figure, a, b, ratio}'
  nameplate compare --tensors a.safetensors b.safetensors
  nameplate compare --tensors a.npy b.npy --tolerance 1e-3

Power, utilization and held clocks are those of the seconds that computed. Exit code 4 where a tensor is outside the
tolerance, else 0.")]
pub struct Compare {
    /// The first recording or log.
    #[arg(required_unless_present = "tensors", requires = "b")]
    pub a: Option<PathBuf>,
    /// The second recording or log.
    pub b: Option<PathBuf>,
    /// What the two jobs computed: safetensors or npy files.
    #[arg(long, num_args = 2, value_names = ["X", "Y"])]
    pub tensors: Vec<PathBuf>,
    /// Largest L2 norm of the difference that passes, over the norm of the first.
    #[arg(long, value_name = "RATIO", default_value_t = 1e-4, value_parser = tolerance, requires = "tensors")]
    pub tolerance: f64,
    /// How it is written.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// `nameplate platforms`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nameplate platforms check --format json")]
pub struct Platforms {
    /// `check`: look at this host only, without the list.
    #[command(subcommand)]
    pub action: Option<PlatformsAction>,
    /// How it is written.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        global = true
    )]
    pub format: Format,
}

/// What to do with the platforms.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum PlatformsAction {
    /// What was found here, and why
    #[command(
        after_help = "Examples:\n  nameplate platforms check\n  nameplate platforms check --format json"
    )]
    Check,
}

/// `nameplate serve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nameplate serve\n  curl -s 127.0.0.1:9836/metrics")]
pub struct Serve {
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9836")]
    pub listen: std::net::SocketAddr,
}

/// `nameplate config`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mkdir -p ~/.config/nameplate && nameplate config > ~/.config/nameplate/config.toml
  nameplate config check")]
pub struct ConfigArgs {
    /// `check`: validate a file; without it: print the sample.
    #[command(subcommand)]
    pub action: Option<ConfigAction>,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Name every problem of a file with its line and the nearest valid key
    #[command(
        after_help = "Examples:\n  nameplate config check\n  nameplate config check other.toml"
    )]
    Check {
        /// Which file; without it: `--config`, else the user's own.
        file: Option<PathBuf>,
    },
}

fn tolerance(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|tolerance| tolerance.is_finite() && *tolerance >= 0.0)
        .ok_or_else(|| format!("\"{text}\" is not a tolerance such as 1e-4"))
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|speed| (0.1..=10_000.0).contains(speed))
        .ok_or_else(|| format!("\"{text}\" is not a speed from 0.1 to 10000"))
}
