//! Small /proc and /sys trees for tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder that stands for `/` and goes away with the test.
pub(super) struct Tree(tempfile::TempDir);

impl Tree {
    /// A tree with these files.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        let full = self.root().join(path.trim_start_matches('/'));
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        full
    }

    /// Writes a file, with the folders above it.
    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    /// A symbolic link at `path` that says `target`.
    pub(super) fn link(&self, path: &str, target: &str) {
        symlink(target, self.at(path)).unwrap();
    }

    /// Removes a file or folder.
    pub(super) fn remove(&self, path: &str) {
        let full = self.at(path);
        if full.is_dir() {
            fs::remove_dir_all(full).unwrap();
        } else {
            fs::remove_file(full).unwrap();
        }
    }
}
