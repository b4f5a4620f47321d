//! What of this host the platform's code may look at: some variables, by name; the firmware's strings; this host's own
//! name and addresses. Nothing outside the root.

use super::secret::{Secret, expanded, secret};
use crate::model::StepResult;
use crate::text::clean;
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// No file that is read here is larger.
const LARGEST: u64 = 1 << 20;
/// No name, id or region is longer.
const LONGEST: usize = 256;

/// Where the user's own things lie.
#[derive(Debug, Clone, Default)]
pub struct Home {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The folder of configurations (`$XDG_CONFIG_HOME`).
    pub config: Option<PathBuf>,
}

/// What the platform's code may look at. It has no `Debug`: keys are in it.
pub struct Surroundings {
    root: PathBuf,
    home: Home,
    key_file: Option<PathBuf>,
    own: BTreeMap<String, SecretString>,
    first: Result<BTreeMap<String, SecretString>, StepResult>,
}

impl Surroundings {
    /// Looks, for these variables only. Files of the user are not looked at where `home` is absent.
    #[must_use]
    pub fn look(
        names: &[String],
        env: &dyn Fn(&str) -> Option<String>,
        root: &Path,
        home: Home,
        key_file: Option<PathBuf>,
    ) -> Self {
        let own = names
            .iter()
            .filter_map(|name| Some((name.clone(), SecretString::from(env(name)?))))
            .filter(|(_, value)| !value.expose_secret().is_empty())
            .collect();
        Self {
            root: root.to_owned(),
            home,
            key_file,
            own,
            first: first_process(root, names),
        }
    }

    /// A variable of our own environment, for what is no secret.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        plain(self.own.get(name)?)
    }

    /// A variable of the first process's environment: login shells do not inherit what a container was started with.
    pub(super) fn first_variable(&self, name: &str) -> Result<Option<String>, StepResult> {
        match &self.first {
            Ok(list) => Ok(list.get(name).and_then(plain)),
            Err(why) => Err(*why),
        }
    }

    /// A variable of either, our own first.
    pub(super) fn either(&self, name: &str) -> Option<String> {
        self.variable(name)
            .or_else(|| self.first_variable(name).ok().flatten())
    }

    /// A key in a variable of either, and where it is.
    pub(super) fn secret(&self, name: &str) -> Option<(Secret, &'static str)> {
        let of = |list: &BTreeMap<String, SecretString>| secret(list.get(name)?.expose_secret());
        if let Some(key) = of(&self.own) {
            return Some((key, "environment"));
        }
        let first = self.first.as_ref().ok()?;
        Some((of(first)?, "pid1_environment"))
    }

    /// The user's own key file.
    pub(super) fn key_file(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// Where a file of the user's lies.
    pub(super) fn home_path(&self, path: &str) -> Option<PathBuf> {
        expanded(path, self.home.home.as_deref(), self.home.config.as_deref())
    }

    /// A string of the firmware.
    pub(super) fn dmi(&self, file: &str) -> Result<String, StepResult> {
        if file.contains(['/', '.']) {
            return Err(StepResult::Error);
        }
        let read = |folder: &str| read(&self.root.join(folder).join(file));
        read("sys/class/dmi/id")
            .or_else(|why| read("sys/devices/virtual/dmi/id").map_err(|_| why))
            .map(|text| clean(text.trim()).into_owned())
    }

    /// This host's own name.
    pub(super) fn host_name(&self) -> Option<String> {
        let text = read(&self.root.join("proc/sys/kernel/hostname")).ok()?;
        Some(text.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// This host's own addresses, without those of its loopback.
    pub(super) fn addresses(&self) -> Vec<String> {
        read(&self.root.join("proc/net/fib_trie"))
            .map(|text| local_addresses(&text))
            .unwrap_or_default()
    }
}

/// A text that is no secret: one line of bounded length.
fn plain(value: &SecretString) -> Option<String> {
    let text = value.expose_secret().trim();
    let fits = !text.is_empty() && text.len() <= LONGEST && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

fn read(path: &Path) -> Result<String, StepResult> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => StepResult::Absent,
            std::io::ErrorKind::PermissionDenied => StepResult::Refused,
            _ => StepResult::Error,
        })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The wanted variables of /proc/1/environ.
fn first_process(
    root: &Path,
    names: &[String],
) -> Result<BTreeMap<String, SecretString>, StepResult> {
    let text = SecretString::from(read(&root.join("proc/1/environ"))?);
    let list = text.expose_secret().split('\0').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        names.iter().find(|known| *known == name)?;
        Some((name.to_owned(), SecretString::from(value)))
    });
    Ok(list
        .filter(|(_, value)| !value.expose_secret().is_empty())
        .collect())
}

/// The addresses that /proc/net/fib_trie has as local: an address, and below it `/32 host LOCAL`.
fn local_addresses(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut address = None;
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("|-- ") {
            address = Some(rest);
        } else if line == "/32 host LOCAL"
            && let Some(local) = address.filter(|a| !a.starts_with("127."))
            && !found.iter().any(|known| known == local)
        {
            found.push(local.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names() -> Vec<String> {
        ["RUNPOD_POD_ID", "RUNPOD_API_KEY"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn a_login_shell_without_the_variables_finds_them_in_the_first_process() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/1")).unwrap();
        std::fs::write(
            root.path().join("proc/1/environ"),
            "PATH=/bin\0RUNPOD_POD_ID=pod7\0RUNPOD_API_KEY=k-1\0HOME=/root\0cut",
        )
        .unwrap();
        let here = Surroundings::look(&names(), &|_| None, root.path(), Home::default(), None);
        assert_eq!(here.variable("RUNPOD_POD_ID"), None);
        assert_eq!(
            here.first_variable("RUNPOD_POD_ID"),
            Ok(Some("pod7".to_owned()))
        );
        assert_eq!(here.either("PATH"), None, "nothing that nobody asked for");
        assert_eq!(here.secret("RUNPOD_API_KEY").unwrap().1, "pid1_environment");
        let own = |name: &str| (name == "RUNPOD_POD_ID").then(|| "other".to_owned());
        let here = Surroundings::look(&names(), &own, root.path(), Home::default(), None);
        assert_eq!(here.either("RUNPOD_POD_ID"), Some("other".to_owned()));
    }

    #[test]
    fn nothing_there_is_absent() {
        let root = tempfile::tempdir().unwrap();
        let here = Surroundings::look(&names(), &|_| None, root.path(), Home::default(), None);
        assert_eq!(
            here.first_variable("RUNPOD_POD_ID"),
            Err(StepResult::Absent)
        );
        assert_eq!(here.dmi("sys_vendor"), Err(StepResult::Absent));
        assert_eq!(here.dmi("../../../etc/passwd"), Err(StepResult::Error));
        assert_eq!(here.addresses(), Vec::<String>::new());
    }

    #[test]
    fn local_addresses_are_found() {
        let text = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.20\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n";
        assert_eq!(local_addresses(text), ["10.0.0.20"]);
    }
}
