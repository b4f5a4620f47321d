//! The rules of the house, read from the sources: ARCHITECTURE.md names each invariant and the test here that enforces it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod source;

use source::{Literal, Source, files, sources, words};
use std::collections::BTreeMap;
use std::path::Path;

/// What a folder of src may import. `units` and `text` stand first and import nothing; those in the middle row never
/// import each other.
const DIRECTION: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("text", &[]),
    ("model", &["units", "text"]),
    ("probe", &["units", "text", "model"]),
    ("simulate", &["units", "text", "model"]),
    ("platform", &["units", "text", "model"]),
    ("ledger", &["units", "text", "model"]),
    ("verdict", &["units", "text", "model"]),
    ("record", &["units", "text", "model"]),
    ("publish", &["units", "text", "model"]),
    ("tensors", &["units", "text", "model"]),
    ("session", &["units", "text", "model", "ledger", "verdict"]),
    (
        "app",
        &[
            "units", "text", "model", "probe", "simulate", "platform", "ledger", "verdict",
            "record", "publish", "session",
        ],
    ),
    (
        "ui",
        &[
            "units", "text", "model", "probe", "simulate", "platform", "ledger", "verdict",
            "record", "publish", "session", "app",
        ],
    ),
    (
        "cli",
        &[
            "units", "text", "model", "probe", "simulate", "platform", "ledger", "verdict",
            "record", "publish", "tensors", "session", "app", "ui",
        ],
    ),
];

/// Crates that only some folders may name.
const CRATES: &[(&str, &[&str])] = &[
    ("ratatui", &["ui"]),
    ("crossterm", &["ui"]),
    ("nameplate_widgets", &["app", "ui"]),
    ("nvml_wrapper", &["probe"]),
    ("nvml_wrapper_sys", &["probe"]),
    ("libloading", &["probe"]),
    ("rusqlite", &["record"]),
    ("clap", &["cli"]),
    ("ureq", &["platform"]),
    ("secrecy", &["platform"]),
];

/// The files and folders where `unsafe` may stand: where a vendor's library is called, and where the C library and the kernel
/// are told about our own memory.
const FFI: &[&str] = &[
    "src/probe/nvidia/ffi.rs",
    "src/probe/nvidia/ffi",
    "src/probe/cambricon/ffi.rs",
    "src/probe/ascend/ffi.rs",
    "src/probe/dynamic.rs",
    "src/probe/gaudi/ffi.rs",
    "src/cli/pages.rs",
];

/// Where a clock, a file, the network, the environment or chance would make two runs of the same ticks differ.
const PURE: &[&str] = &[
    "src/units",
    "src/model",
    "src/ledger",
    "src/verdict",
    "src/session",
    "src/ui/views",
];

/// What those folders therefore never name.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "tokio",
    "rustix",
    "procfs",
    "sysinfo",
];

/// Words in literals of the views that belong to no language, and why.
const NO_WORDS: &[(&str, &str)] = &[
    ("nameplate", "the program's own name"),
    ("pid", "the system's own name for a process's number"),
    ("kWh", "unit"),
    ("MHz", "unit"),
    ("GHz", "unit"),
    ("KiB", "unit"),
    ("MiB", "unit"),
    ("GiB", "unit"),
    ("TiB", "unit"),
];

/// Most lines of a file.
const LINES: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Fails with all findings at once.
fn none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

/// The top-level modules that a file names in shipped code, with the place.
fn imports(source: &Source) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for at in words(&source.shipped, "crate") {
        let rest = &source.shipped[at + "crate".len()..];
        if let Some(rest) = rest.trim_start().strip_prefix("::") {
            found.extend(first_names(rest).into_iter().map(|name| (name, at)));
        }
    }
    let depth = source.module().len();
    for (at, _) in source.shipped.match_indices("super::") {
        let rest = &source.shipped[at..];
        let tail = rest.trim_start_matches("super::");
        let climbs = (rest.len() - tail.len()) / "super::".len();
        if climbs >= depth && !source.shipped[..at].ends_with("super::") {
            found.extend(first_names(tail).into_iter().map(|name| (name, at)));
        }
    }
    found
}

/// The first name of a path, or those of its braces.
fn first_names(path: &str) -> Vec<String> {
    let path = path.trim_start();
    let Some(group) = path.strip_prefix('{') else {
        return vec![
            path.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect(),
        ];
    };
    let (mut names, mut depth, mut fresh) = (Vec::new(), 0_usize, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && c.is_alphabetic() => {
                names.extend(first_names(&group[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

#[test]
fn imports_go_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = DIRECTION.iter().copied().collect();
    let mut findings = Vec::new();
    for source in sources(root(), "src") {
        let module = source.module();
        let Some(home) = module.first() else { continue };
        let Some(may) = allowed.get(home.as_str()) else {
            findings.push(format!(
                "{}: {home} has no place in the direction",
                source.path.display()
            ));
            continue;
        };
        for (name, at) in imports(&source) {
            // What is not a folder is an item of the crate's root, of which there are none.
            if name != *home && !may.contains(&name.as_str()) {
                findings.push(format!("{}: {home} imports {name}", source.place(at)));
            }
        }
    }
    none(
        "imports go units, text <- model <- the middle row <- session <- app <- ui <- cli",
        &findings,
    );
}

#[test]
fn imports_are_found_in_every_spelling() {
    let text = "use crate::{model::{Tick, ui}, text};
fn f() { crate::ui::draw(); super::super::probe::open(); super::near(); $crate::app::x(); }
// use crate::record::A;
#[cfg(test)]
mod tests { use crate::simulate::Case; }
";
    let source = Source::new("src/session/fold.rs".into(), text.to_owned());
    let mut names: Vec<String> = imports(&source).into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["app", "model", "probe", "text", "ui"]);
}

#[test]
fn only_their_folders_name_these_crates() {
    let mut findings = Vec::new();
    for source in sources(root(), "src") {
        let module = source.module();
        let Some(home) = module.first() else { continue };
        for (name, may) in CRATES {
            for at in words(&source.shipped, name).filter(|_| !may.contains(&home.as_str())) {
                if source.shipped[at + name.len()..].starts_with("::") {
                    findings.push(format!("{}: {home} names {name}", source.place(at)));
                }
            }
        }
    }
    none(
        "the screen's crates stay in ui, the vendors' in probe",
        &findings,
    );
}

#[test]
fn the_widgets_know_ratatui_core_only() {
    let manifest: toml::Table = std::fs::read_to_string(root().join("widgets/Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let names: Vec<&String> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["ratatui-core"]);
}

#[test]
fn the_fold_and_the_views_are_pure() {
    let mut findings = Vec::new();
    for folder in PURE {
        for source in sources(root(), folder) {
            for word in IMPURE {
                for at in words(&source.shipped, word) {
                    findings.push(format!("{}: {word}", source.place(at)));
                }
            }
        }
    }
    none(
        "no clock, file, network, environment or thread in what must give the same result twice",
        &findings,
    );
}

#[test]
fn files_are_short() {
    let mut findings = Vec::new();
    for folder in ["src", "widgets/src", "tests"] {
        for path in files(root(), folder, "rs") {
            let lines = std::fs::read_to_string(root().join(&path))
                .unwrap()
                .lines()
                .count();
            if lines > LINES {
                findings.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    none("at most 600 lines in a file", &findings);
}

#[test]
fn unsafe_stands_only_where_foreign_code_is_called() {
    let mut findings = Vec::new();
    let all = sources(root(), "src")
        .into_iter()
        .chain(sources(root(), "widgets/src"));
    for source in all {
        let named = FFI.iter().any(|p| source.path.starts_with(p));
        for at in words(&source.code, "unsafe") {
            let line = source.line(at);
            let lines: Vec<&str> = source.raw.lines().collect();
            let above = &lines[line.saturating_sub(12)..line];
            // A type of a foreign function is no call; a declaration says its demands under `# Safety`.
            let is_type = source.code[at..]
                .strip_prefix("unsafe extern \"")
                .is_some_and(|rest| rest.trim_start().starts_with("fn("));
            if !named {
                findings.push(format!(
                    "{}: unsafe outside the named files",
                    source.place(at)
                ));
            } else if !is_type
                && !above
                    .iter()
                    .any(|l| l.contains("SAFETY:") || l.contains("# Safety"))
            {
                findings.push(format!("{}: no SAFETY reason", source.place(at)));
            }
        }
        if !named && words(&source.code, "unsafe_code").count() > 0 {
            findings.push(format!(
                "{}: unsafe_code is allowed here",
                source.path.display()
            ));
        }
    }
    none(
        "unsafe stands in the named files, each with its reason",
        &findings,
    );
}

#[test]
fn nothing_is_left_to_do() {
    let mut findings = Vec::new();
    let all = sources(root(), "src")
        .into_iter()
        .chain(sources(root(), "widgets/src"));
    for source in all {
        for name in ["todo", "unimplemented", "dbg"] {
            for at in words(&source.code, name) {
                if source.code[at + name.len()..].starts_with('!') {
                    findings.push(format!("{}: {name}!", source.place(at)));
                }
            }
        }
    }
    none("no todo!, unimplemented! or dbg!", &findings);
}

#[test]
fn views_take_their_words_from_the_catalogue() {
    let mut findings = Vec::new();
    for source in sources(root(), "src/ui/views") {
        for literal in source.literals.iter().filter(|l| source.ships(l.at)) {
            if has_word(&literal.text) && !is_compared(&source, literal) {
                findings.push(format!("{}: {:?}", source.place(literal.at), literal.text));
            }
        }
    }
    none(
        "words on the screen come from the catalogue (assets/locales)",
        &findings,
    );
}

/// Whether a literal is looked for, not drawn: a pattern of `match`, or one side of `==`.
fn is_compared(source: &Source, literal: &Literal) -> bool {
    let end = |c: char| c.is_whitespace() || c == '"' || c == ')';
    let after = source.code[literal.at..].trim_start_matches(end);
    let before = source.code[..literal.at]
        .trim_end()
        .trim_end_matches("Some(")
        .trim_end();
    let is_pattern =
        after.starts_with("=>") || (after.starts_with('|') && !after.starts_with("||"));
    is_pattern || before.ends_with("==") || before.ends_with("!=")
}

/// Whether three letters stand together outside `{}` and `%` directives, or a sign of a script without letters.
fn has_word(literal: &str) -> bool {
    let mut text = String::new();
    let mut depth = 0_usize;
    for c in literal.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    let known = |word: &str| NO_WORDS.iter().any(|(known, _)| *known == word);
    text.split(|c: char| !c.is_alphabetic())
        .filter(|word| !known(word))
        .any(|word| word.chars().count() >= 3 || word.chars().any(|c| c > '\u{2e80}'))
}

#[test]
fn a_word_is_three_letters_outside_of_braces() {
    assert!(has_word("  dropped {n}"));
    assert!(has_word("链"));
    assert!(!has_word(
        "{state:.0} {interval}s %H:%M:%S °C W/h {x} MHz nameplate"
    ));
}

#[test]
fn a_compared_literal_is_not_drawn() {
    let text = r#"fn f() { match a { Some("table") => g("drawn"), "one" | "two" => h() } if b == Some("three") {} }"#;
    let source = Source::new("src/ui/views/x.rs".into(), text.to_owned());
    let drawn: Vec<&str> = source
        .literals
        .iter()
        .filter(|l| !is_compared(&source, l))
        .map(|l| l.text.as_str())
        .collect();
    assert_eq!(drawn, ["drawn"]);
}

#[test]
fn colours_come_from_roles() {
    let mut findings = Vec::new();
    let all = sources(root(), "src")
        .into_iter()
        .chain(sources(root(), "widgets/src"));
    for source in all {
        let path = source.path.to_string_lossy();
        if path.starts_with("src/ui/theme") || path.starts_with("src/ui/terminal") {
            continue;
        }
        for word in ["Color", "Stylize"] {
            for at in words(&source.shipped, word) {
                findings.push(format!("{}: {word}", source.place(at)));
            }
        }
    }
    none(
        "colours are named by the themes and written by the terminal, nowhere else",
        &findings,
    );
}

#[test]
fn data_says_where_it_is_from() {
    let mut findings = Vec::new();
    for path in files(root(), "assets", "csv") {
        let file = std::fs::File::open(root().join(&path)).unwrap();
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(file);
        let Some(column) = reader.headers().unwrap().iter().position(|h| h == "source") else {
            findings.push(format!("{}: no source column", path.display()));
            continue;
        };
        for record in reader.records() {
            let record = record.unwrap();
            if record.get(column).is_none_or(|s| s.trim().is_empty()) {
                let name = record.get(0).unwrap_or_default();
                findings.push(format!("{}: {name} has no source", path.display()));
            }
        }
    }
    // Words are our own; everything else that is data was found somewhere.
    for path in files(root(), "assets", "toml")
        .iter()
        .filter(|p| !p.starts_with("assets/locales"))
    {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        let says = text.lines().any(|l| {
            let line = l.trim_start_matches(['#', ' ']).to_lowercase();
            line.starts_with("source")
        });
        if !says {
            findings.push(format!("{}: no source", path.display()));
        }
    }
    none("data carries its source", &findings);
}

/// Every `module::name` that ARCHITECTURE.md puts in code quotes behind "Test:" exists.
#[test]
fn the_tests_that_the_architecture_names_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let code: String = ["src", "widgets/src", "tests"]
        .iter()
        .flat_map(|folder| sources(root(), folder))
        .map(|source| source.code)
        .collect();
    let mut findings = Vec::new();
    let mut named = 0;
    for paragraph in text.split("\n\n") {
        let behind = paragraph.split("Test:").nth(1).unwrap_or_default();
        for name in behind.split('`').skip(1).step_by(2) {
            named += 1;
            let name = name.rsplit("::").next().unwrap_or(name);
            if !code.contains(&format!("fn {name}(")) {
                findings.push(format!("no test {name}"));
            }
        }
    }
    assert!(named > 0, "ARCHITECTURE.md names no test");
    none("ARCHITECTURE.md names tests that exist", &findings);
}

#[test]
fn the_readme_and_ci_run_the_same_test_command() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(readme.contains("cargo run --release -- demo"));
    assert!(
        readme
            .lines()
            .any(|l| l.trim().starts_with("cargo test --workspace"))
    );
    assert!(ci.lines().any(|l| l == "step test cargo test --workspace"));
}
