//! Versions from files: of the firmware and of CANN, which the library does not tell.

use std::fs;
use std::path::{Path, PathBuf};

const DRIVER: &str = "usr/local/Ascend/driver/version.info";
const FIRMWARE: &str = "usr/local/Ascend/firmware/version.info";
/// Where CANN's installer puts it, the newer way first.
const CANN: &[&str] = &[
    "usr/local/Ascend/cann",
    "usr/local/Ascend/ascend-toolkit/latest",
];
const CANN_FILE: &str = "ascend_toolkit_install.info";

/// The version of the driver under a root.
pub(super) fn driver(root: &Path) -> Option<String> {
    in_file(&root.join(DRIVER), "Version")
}

/// The version of the firmware under a root.
pub(super) fn firmware(root: &Path) -> Option<String> {
    in_file(&root.join(FIRMWARE), "Version")
}

/// The version of CANN under a root. `home` is `ASCEND_TOOLKIT_HOME`, where it counts.
pub(super) fn cann(root: &Path, home: Option<PathBuf>) -> Option<String> {
    let folders = home
        .into_iter()
        .chain(CANN.iter().map(|path| root.join(path)));
    folders.into_iter().find_map(|folder| {
        in_file(&folder.join("version.info"), "Version").or_else(|| {
            // One folder for each architecture.
            let mut below: Vec<PathBuf> = fs::read_dir(&folder)
                .ok()?
                .filter_map(|entry| Some(entry.ok()?.path()))
                .collect();
            below.sort();
            std::iter::once(folder.clone())
                .chain(below)
                .find_map(|folder| in_file(&folder.join(CANN_FILE), "version"))
        })
    })
}

fn in_file(path: &Path, key: &str) -> Option<String> {
    value_of(&fs::read_to_string(path).ok()?, key)
}

/// The value of a line `key=value`, whatever the key's case.
fn value_of(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = crate::text::clean(value);
        let value = value.trim();
        (name.trim().eq_ignore_ascii_case(key) && !value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    #[test]
    fn versions_are_found_in_both_layouts() {
        let tree = Tree::new(&[]);
        assert_eq!(firmware(tree.root()), None);
        assert_eq!(cann(tree.root(), None), None);
        tree.write(
            "/usr/local/Ascend/firmware/version.info",
            "Version=7.5.0.3.220\nfirmware_version=1.0\n",
        );
        tree.write(
            "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
            "package_name=Ascend-cann-toolkit\nversion=8.1.RC1\n",
        );
        assert_eq!(firmware(tree.root()).as_deref(), Some("7.5.0.3.220"));
        assert_eq!(cann(tree.root(), None).as_deref(), Some("8.1.RC1"));
        tree.write("/usr/local/Ascend/cann/version.info", "Version=8.5.0\n");
        assert_eq!(cann(tree.root(), None).as_deref(), Some("8.5.0"));
        assert_eq!(
            value_of("Version=\nVERSION = 2 \n", "version").as_deref(),
            Some("2")
        );
        assert_eq!(driver(tree.root()), None);
    }
}
