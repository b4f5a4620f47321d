//! Keys: where they may lie, and a type that cannot be shown.

use super::descriptor::KeyPlace;
use super::surroundings::Surroundings;
use crate::model::Need;
use secrecy::SecretString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A key. It has no `Display`, its `Debug` says nothing of it, and its memory is wiped.
pub(super) type Secret = SecretString;

/// No key file is larger.
const LARGEST: u64 = 64 << 10;
/// No key is longer.
const LONGEST: usize = 8 << 10;
/// The key that is used where the platform has no place of its own.
pub const OWN_VARIABLE: &str = "NAMEPLATE_PLATFORM_KEY";

/// Why a file is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyFileError {
    #[error("{0} is not there")]
    Missing(String),
    #[error("{0} can be read by others and is not used; next: chmod 600 {0}")]
    Open(String),
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, String),
    #[error("{0} has no key in it")]
    Empty(String),
}

/// A key that was found, or what to say about the places where it was looked for.
pub(super) struct Keys {
    pub(super) key: Option<Secret>,
    /// For the report: each place by its name.
    pub(super) needs: Vec<Need>,
    /// A file that would have had one, and why it is not used.
    pub(super) trouble: Option<String>,
}

/// Looks for a key: the platform's own variables and files, then the user's file, then our own variable.
/// Where no request needs one, none is looked for.
pub(super) fn find(places: &[KeyPlace], is_needed: bool, here: &Surroundings) -> Keys {
    let mut keys = Keys {
        key: None,
        needs: Vec::new(),
        trouble: None,
    };
    if !is_needed {
        return keys;
    }
    for place in places {
        match place {
            KeyPlace::Environment(name) => keys.variable(name, here),
            KeyPlace::File { path, names } => {
                if let Some(path) = here.home_path(path) {
                    keys.file(&path, names);
                }
            }
        }
    }
    if let Some(path) = here.key_file() {
        keys.file(path, &[]);
    }
    keys.variable(OWN_VARIABLE, here);
    keys
}

impl Keys {
    fn variable(&mut self, name: &str, here: &Surroundings) {
        let found = here.secret(name);
        self.needs.push(Need {
            key: name.to_owned(),
            found: found.is_some(),
            place: found.as_ref().map(|(_, place)| (*place).to_owned()),
        });
        if self.key.is_none() {
            self.key = found.map(|(key, _)| key);
        }
    }

    fn file(&mut self, path: &Path, names: &[String]) {
        let shown = path.display().to_string();
        let (found, place) = match read(path, names) {
            Ok(key) => {
                if self.key.is_none() {
                    self.key = Some(key);
                }
                (true, Some("file".to_owned()))
            }
            Err(KeyFileError::Missing(_)) => (false, None),
            Err(error) => {
                self.trouble.get_or_insert(error.to_string());
                (false, Some(error.to_string()))
            }
        };
        self.needs.push(Need {
            key: shown,
            found,
            place,
        });
    }
}

/// The key in a file that only its owner may read. Without names the whole text is the key; with names it is the value
/// of the first line `name = value` (as in TOML, in INI files, or `name: value`).
pub(super) fn read(path: &Path, names: &[String]) -> Result<Secret, KeyFileError> {
    let shown = || path.display().to_string();
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            KeyFileError::Missing(shown())
        }
        kind => KeyFileError::Unreadable(shown(), kind.to_string()),
    };
    let file = File::open(path).map_err(unreadable)?;
    // Of the file that is open, whatever the path names by now.
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() || about.size() > LARGEST {
        return Err(KeyFileError::Unreadable(
            shown(),
            "it is no small plain file".to_owned(),
        ));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err(KeyFileError::Open(shown()));
    }
    let mut text = String::new();
    file.take(LARGEST)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let found = if names.is_empty() {
        Some(text.trim())
    } else {
        names.iter().find_map(|name| named(&text, name))
    };
    let key = found.and_then(secret).ok_or(KeyFileError::Empty(shown()));
    // What was read beside the key is wiped as well.
    drop(SecretString::from(text));
    key
}

/// A text as a key, where it can be one: no blanks, no control characters.
pub(super) fn secret(text: &str) -> Option<Secret> {
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_graphic());
    (plain && !text.is_empty() && text.len() <= LONGEST).then(|| SecretString::from(text))
}

/// The value of `name = value`.
fn named<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(name)?.trim_start();
        let value = rest.strip_prefix(['=', ':'])?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then_some(value)
    })
}

/// A path with `~` or `{config}` before it.
pub(super) fn expanded(path: &str, home: Option<&Path>, config: Option<&Path>) -> Option<PathBuf> {
    if let Some(rest) = path.strip_prefix("~/") {
        return home.map(|home| home.join(rest));
    }
    if let Some(rest) = path.strip_prefix("{config}/") {
        return config.map(|config| config.join(rest));
    }
    Path::new(path).is_absolute().then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use secrecy::ExposeSecret as _;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn keys_are_read_in_every_spelling() {
        let names = ["apikey".to_owned(), "apiKey".to_owned()];
        for (text, names) in [
            ("k-123\n", &[][..]),
            ("apikey = \"k-123\"\n", &names[..]),
            ("[default]\napiKey='k-123'", &names[..]),
            ("apikey: k-123\n", &names[..]),
        ] {
            let (_folder, path) = file(text, 0o600);
            assert_eq!(
                read(&path, names).unwrap().expose_secret(),
                "k-123",
                "{text}"
            );
        }
        for text in ["", " \n", "apikey =\n", "two words"] {
            let (_folder, path) = file(text, 0o600);
            let names = if text.contains('=') { &names[..] } else { &[] };
            assert!(
                matches!(read(&path, names), Err(KeyFileError::Empty(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_command_to_type() {
        for mode in [0o644, 0o640, 0o606, 0o660] {
            let (_folder, path) = file("k-123", mode);
            let error = read(&path, &[]).unwrap_err().to_string();
            assert!(
                error.ends_with(&format!("next: chmod 600 {}", path.display())),
                "{error}"
            );
            assert!(!error.contains("k-123"));
        }
    }

    #[test]
    fn a_key_cannot_be_shown() {
        let key = secret("k-123").unwrap();
        assert!(!format!("{key:?}").contains("k-123"));
    }
}
