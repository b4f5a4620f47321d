//! Colours by meaning: a view names a role, a theme says how the role looks, the terminal's depth says what is left of it.
//!
//! Themes are TOML files: three are embedded (`dark`, `light`, `mono`), a user's own lie in a folder, where a file may
//! inherit from another and gives only what differs.

mod colour;
mod depth;
mod file;

use std::fs;
use std::path::{Path, PathBuf};

use ratatui::style::Style;

pub use depth::{ColorChoice, Depth, UnknownColorChoice};
use file::ThemeFile;

use crate::text::nearest;

macro_rules! roles {
    ($( $(#[$doc:meta])* $role:ident $name:literal; )*) => {
        /// What a piece of the screen means; views know nothing else of colours.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Role { $( $(#[$doc])* $role ),* }

        impl Role {
            /// All roles, in the order of the enum.
            pub const ALL: &[Self] = &[$(Self::$role),*];

            /// The name as theme files write it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$role => $name),* }
            }
        }
    };
}

roles! {
    /// The ground that the whole screen stands on.
    Ground "ground";
    /// What is read.
    Text "text";
    /// What is read first.
    Strong "strong";
    /// What never changes: titles, units, hints.
    Muted "muted";
    /// Barely there: dots between groups, empty cells; nothing that must be read.
    Faint "faint";
    /// Keys and commands to type.
    Accent "accent";
    /// The ground of the selected row, patched over the row's own roles.
    Select "select";
    /// The mark before the selected row.
    SelectedMark "selected_mark";
    /// Lines that separate.
    Rule "rule";
    /// Fine; working.
    Ok "ok";
    /// Needs attention: capped, hot, throttled.
    Warn "warn";
    /// Wrong: stalled, degraded.
    Bad "bad";
    /// Nothing to do.
    Idle "idle";
    /// Idle and kept: memory is held, money is wasted.
    Held "held";
    /// A device that is lost or does not answer.
    Lost "lost";
    /// Not known, not enough evidence, or no value.
    Unknown "unknown";
    /// The filled part of a bar whose state is fine.
    Bar "bar";
    /// The empty part of a bar.
    BarEmpty "bar_empty";
    /// The plate's tick and figure.
    Plate "plate";
    /// The enforced limit's tick and figure where it cuts the plate.
    Limit "limit";
    /// Phase: compute.
    Compute "compute";
    /// The part of compute that was stalled.
    Stalled "stalled";
    /// The part of compute that was throttled.
    Throttled "throttled";
    /// Phase: io-wait.
    IoWait "io_wait";
    /// Phase: start-up/queue.
    Queue "queue";
    /// Phase: unobserved.
    Unobserved "unobserved";
    /// The banner of the demo.
    BannerDemo "banner_demo";
    /// The banner of a replay.
    BannerReplay "banner_replay";
    /// The line of a chart whose state is fine.
    ChartLine "chart_line";
    /// A chart's ceiling and its name.
    ChartCeiling "chart_ceiling";
    /// A chart's figures on its axes.
    ChartAxis "chart_axis";
}

impl Role {
    /// The role of a name in a theme file.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }
}

/// The embedded themes: name and file.
const EMBEDDED: [(&str, &str); 3] = [
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
];

/// The theme that stands where none was chosen, and that a file without `inherits` builds on.
pub const DEFAULT_THEME: &str = "dark";

/// No chain of themes is longer than this.
const MAX_INHERITANCE: usize = 8;

/// No theme file is larger than this, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Why a theme cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// Neither embedded nor in the folder.
    #[error("there is no theme called \"{name}\"{}", did_you_mean(.nearest.as_deref()))]
    NotFound {
        /// The name as it was given.
        name: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// A name that is no plain word, and so no file of the folder.
    #[error("\"{name}\" is no theme's name: letters, digits, - and _ only")]
    BadName {
        /// The name as it was given.
        name: String,
    },
    /// A file of the folder cannot be read.
    #[error("cannot read {}: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A line of a file is wrong.
    #[error("{}, line {line}: {what}", file.display())]
    Line {
        /// The file; for an embedded theme its name in the repository.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: LineError,
    },
    /// A theme inherits from itself, directly or through others.
    #[error("theme \"{name}\" inherits from itself")]
    Cycle {
        /// The theme's name.
        name: String,
    },
}

/// What is wrong with a line of a theme file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The file is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// No such role.
    #[error("unknown role \"{name}\"{}", did_you_mean(*.nearest))]
    UnknownRole {
        /// As the file writes it.
        name: String,
        /// The nearest role.
        nearest: Option<&'static str>,
    },
    /// No such key here.
    #[error("unknown key \"{name}\"{}", did_you_mean(*.nearest))]
    UnknownKey {
        /// As the file writes it.
        name: String,
        /// The nearest key.
        nearest: Option<&'static str>,
    },
    /// Not a colour.
    #[error("\"{value}\" is no colour: #rrggbb, 0 to 255, default, or a name of the 16{}", did_you_mean(*.nearest))]
    BadColour {
        /// As the file writes it.
        value: String,
        /// The nearest name.
        nearest: Option<&'static str>,
    },
    /// A value of another kind.
    #[error("\"{key}\" must be {expected}")]
    WrongKind {
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|word| format!("; did you mean \"{word}\"?"))
        .unwrap_or_default()
}

/// A theme at one depth: a table of styles, ready to draw with.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    name: String,
    depth: Depth,
    styles: Vec<Style>,
}

impl Theme {
    /// Loads a theme at a depth. A file `NAME.toml` in `folder` comes before the embedded theme of that name; a role that
    /// it lacks comes from the theme it inherits, and where it names none, from the embedded [`DEFAULT_THEME`].
    ///
    /// # Errors
    /// [`ThemeError`] where a theme is not found, cannot be read, or has a wrong line.
    pub fn load(name: &str, folder: Option<&Path>, depth: Depth) -> Result<Self, ThemeError> {
        let chain = chain_of(name, folder)?;
        let styles = Role::ALL
            .iter()
            .map(|role| {
                chain
                    .iter()
                    .find_map(|file| file.role(*role))
                    .map(|look| look.style(depth))
                    .unwrap_or_default()
            })
            .collect();
        Ok(Self {
            name: name.to_owned(),
            depth,
            styles,
        })
    }

    /// The default theme; it needs no file and cannot fail.
    #[must_use]
    pub fn fallback(depth: Depth) -> Self {
        Self::load(DEFAULT_THEME, None, depth).unwrap_or_else(|_| Self {
            name: DEFAULT_THEME.to_owned(),
            depth,
            styles: Vec::new(),
        })
    }

    /// The names of all themes, embedded ones first, then the folder's in alphabetical order.
    #[must_use]
    pub fn names(folder: Option<&Path>) -> Vec<String> {
        let mut names: Vec<String> = EMBEDDED
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let mut own: Vec<String> = folder
            .and_then(|folder| fs::read_dir(folder).ok())
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "toml")
            })
            .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
            .filter(|name| is_plain(name) && !names.contains(name))
            .collect();
        own.sort();
        names.extend(own);
        names
    }

    /// Checks the text of a theme file, without what it inherits; `file` stands in the errors.
    ///
    /// # Errors
    /// [`ThemeError::Line`] for the first wrong line.
    pub fn check(file: &Path, text: &str) -> Result<(), ThemeError> {
        ThemeFile::parse(file, text).map(drop)
    }

    /// How a role looks.
    #[must_use]
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// The name that it was loaded by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The depth that it was loaded for.
    #[must_use]
    pub fn depth(&self) -> Depth {
        self.depth
    }
}

/// A theme's file and all that it inherits, nearest first, ending in the embedded default.
fn chain_of(name: &str, folder: Option<&Path>) -> Result<Vec<ThemeFile>, ThemeError> {
    let mut chain = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next {
        // A user's own `dark` may build on the embedded `dark`: the second time a name comes up, it is the embedded one.
        let again = seen.iter().filter(|seen| **seen == name).count();
        let folder = if again == 0 { folder } else { None };
        let embedded = EMBEDDED.iter().any(|(known, _)| *known == name);
        if again > usize::from(embedded) || chain.len() >= MAX_INHERITANCE {
            return Err(ThemeError::Cycle { name });
        }
        let file = find(&name, folder)?;
        next = file.inherits.clone();
        seen.push(name);
        chain.push(file);
    }
    chain.push(find(DEFAULT_THEME, None)?);
    Ok(chain)
}

fn find(name: &str, folder: Option<&Path>) -> Result<ThemeFile, ThemeError> {
    if !is_plain(name) {
        return Err(ThemeError::BadName {
            name: name.to_owned(),
        });
    }
    if let Some(folder) = folder {
        let path = folder.join(format!("{name}.toml"));
        if path.exists() {
            return ThemeFile::parse(&path, &read(&path)?);
        }
    }
    match EMBEDDED.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => ThemeFile::parse(&PathBuf::from(format!("themes/{name}.toml")), text),
        None => {
            let names = Theme::names(folder);
            let nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
            Err(ThemeError::NotFound {
                name: name.to_owned(),
                nearest,
            })
        }
    }
}

fn read(path: &Path) -> Result<String, ThemeError> {
    let unreadable = |reason: String| ThemeError::Unreadable {
        file: path.to_owned(),
        reason,
    };
    let found = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return Err(unreadable(format!(
            "not a plain file of at most {MAX_FILE_BYTES} bytes"
        )));
    }
    fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

#[cfg(test)]
mod tests;
