//! Vendors' libraries that are named by hand.

use crate::model::Vendor;
use clap::Args;
use std::path::PathBuf;

/// Other libraries than those that the system has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Libraries {
    /// Another library with NVML's names (never from the environment).
    #[arg(long = "nvml-library", global = true, value_name = "PATH")]
    pub nvml: Option<PathBuf>,
    /// Another libdcmi.so, of Ascend (never from the environment).
    #[arg(long = "dcmi-library", global = true, value_name = "PATH")]
    pub dcmi: Option<PathBuf>,
    /// Another libcndev.so, of Cambricon (never from the environment).
    #[arg(long = "cndev-library", global = true, value_name = "PATH")]
    pub cndev: Option<PathBuf>,
    /// Another libhlml.so, of Gaudi (never from the environment).
    #[arg(long = "hlml-library", global = true, value_name = "PATH")]
    pub hlml: Option<PathBuf>,
}

impl Libraries {
    /// That of one vendor.
    #[must_use]
    pub const fn of(&self, vendor: Vendor) -> Option<&PathBuf> {
        match vendor {
            Vendor::Nvidia => self.nvml.as_ref(),
            Vendor::Ascend => self.dcmi.as_ref(),
            Vendor::Cambricon => self.cndev.as_ref(),
            Vendor::Gaudi => self.hlml.as_ref(),
            _ => None,
        }
    }

    /// These, and others where these name none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            nvml: self.nvml.or(other.nvml),
            dcmi: self.dcmi.or(other.dcmi),
            cndev: self.cndev.or(other.cndev),
            hlml: self.hlml.or(other.hlml),
        }
    }

    /// All that are named.
    pub(super) fn named(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [
            &mut self.nvml,
            &mut self.dcmi,
            &mut self.cndev,
            &mut self.hlml,
        ]
        .into_iter()
        .flatten()
    }
}
