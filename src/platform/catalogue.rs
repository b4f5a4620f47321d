//! The platforms that are known: those built in, and the user's own files.

use super::descriptor::{Descriptor, KeyPlace};
use super::secret::OWN_VARIABLE;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// No descriptor is larger.
const LARGEST: u64 = 256 << 10;
/// Files of the user's that are read.
const FILES: usize = 64;

/// In the order in which they are tried.
const BUILT_IN: [&str; 18] = [
    include_str!("../../assets/platforms/runpod.toml"),
    include_str!("../../assets/platforms/vast.toml"),
    include_str!("../../assets/platforms/autodl.toml"),
    include_str!("../../assets/platforms/modal.toml"),
    include_str!("../../assets/platforms/kaggle.toml"),
    include_str!("../../assets/platforms/colab.toml"),
    include_str!("../../assets/platforms/paperspace.toml"),
    include_str!("../../assets/platforms/azure.toml"),
    include_str!("../../assets/platforms/gcp.toml"),
    include_str!("../../assets/platforms/aws.toml"),
    include_str!("../../assets/platforms/alibaba.toml"),
    include_str!("../../assets/platforms/tencent.toml"),
    include_str!("../../assets/platforms/huawei.toml"),
    include_str!("../../assets/platforms/lambda.toml"),
    include_str!("../../assets/platforms/shadeform.toml"),
    include_str!("../../assets/platforms/tensordock.toml"),
    include_str!("../../assets/platforms/fluidstack.toml"),
    include_str!("../../assets/platforms/generic.toml"),
];

/// A platform and where its descriptor is from.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) descriptor: Arc<Descriptor>,
    /// `built-in`, or the file.
    pub(super) origin: String,
}

/// All platforms that are known.
#[derive(Clone, Default)]
pub struct Catalogue {
    known: Vec<Known>,
    problems: Vec<String>,
}

impl Catalogue {
    /// Those built in, and the files `*.toml` of a folder: one of the same name takes the place of a built-in one, any
    /// other is tried before them. A file that cannot be used is a problem, and stops nothing.
    #[must_use]
    pub fn load(folder: Option<&Path>) -> Self {
        let mut all = Self::default();
        for text in BUILT_IN {
            match Descriptor::parse(text) {
                Ok(descriptor) => all.known.push(Known {
                    descriptor: Arc::new(descriptor),
                    origin: "built-in".to_owned(),
                }),
                Err(error) => all.problems.push(format!("built-in: {error}")),
            }
        }
        let files = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let mut files: Vec<_> = files
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
            .collect();
        files.sort();
        for path in files.iter().take(FILES).rev() {
            match read(path).and_then(|text| Descriptor::parse(&text).map_err(|e| e.to_string())) {
                Ok(descriptor) => all.add(Known {
                    descriptor: Arc::new(descriptor),
                    origin: path.display().to_string(),
                }),
                Err(error) => all.problems.push(format!("{}: {error}", path.display())),
            }
        }
        all
    }

    fn add(&mut self, own: Known) {
        self.known
            .retain(|known| known.descriptor.name != own.descriptor.name);
        self.known.insert(0, own);
    }

    pub(super) fn known(&self) -> &[Known] {
        &self.known
    }

    /// Files that cannot be used, each with the reason, one line each.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known
            .iter()
            .map(|known| known.descriptor.name.as_str())
    }

    /// The variables that may hold a key: no business of any other process.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let keys = self.known.iter().flat_map(|known| &known.descriptor.keys);
        let mut names: Vec<String> = keys
            .filter_map(|place| match place {
                KeyPlace::Environment(name) => Some(name.clone()),
                KeyPlace::File { .. } => None,
            })
            .chain([OWN_VARIABLE.to_owned()])
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Every variable that is ever looked at.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        let mut names = self.key_variables();
        for known in &self.known {
            let descriptor = &known.descriptor;
            names.extend(descriptor.detect.environment.iter().flatten().cloned());
            names.extend(descriptor.instance.iter().cloned());
            names.extend(
                descriptor
                    .variable
                    .iter()
                    .map(|variable| variable.name.clone()),
            );
        }
        names.sort();
        names.dedup();
        names
    }
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
        .map_err(|error| error.kind().to_string())?;
    if text.len() as u64 > LARGEST {
        return Err("it is larger than 256 KiB".to_owned());
    }
    Ok(text)
}
