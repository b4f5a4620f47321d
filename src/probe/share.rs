//! Shares of a card, as a container can tell: by what its scheduler put into its environment, and by what is loaded into
//! every program. The driver's library says nothing of them: it answers for the whole card, but for the memory.
//!
//! Alibaba's cGPU reads `ALIYUN_COM_GPU_MEM_CONTAINER` of `ALIYUN_COM_GPU_MEM_DEV`, in the same unit (its README; the
//! gpushare device plug-in's const.go). HAMi sets `CUDA_DEVICE_MEMORY_LIMIT[_N]` and `CUDA_DEVICE_SM_LIMIT` and has
//! `libvgpu.so` loaded by /etc/ld.so.preload or `LD_PRELOAD` (HAMi-core's README).

use crate::model::{Device, DeviceKind, ShareKind, Vendor};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Nothing that is read here is longer.
const LONGEST: u64 = 1 << 20;
/// The library that HAMi puts between programs and driver.
const BETWEEN: &str = "libvgpu.so";
/// What the names of all variables that are looked at begin with.
const WANTED: [&str; 3] = ["ALIYUN_COM_GPU_MEM_", "CUDA_DEVICE_", "LD_PRELOAD"];

/// The variables that tell of a share: our own, and what the container was started with where ours say nothing.
pub(super) struct Surroundings {
    variables: BTreeMap<String, String>,
    preloaded: bool,
}

impl Surroundings {
    /// Looks under `root`; `own` is this program's environment.
    pub(super) fn look<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        root: &Path,
        own: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let first = read(&root.join("proc/1/environ"));
        let pairs = first.split('\0').filter_map(|pair| pair.split_once('='));
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let own = own.into_iter().filter_map(|(name, value)| {
            let name = name.as_ref().to_str()?.to_owned();
            Some((name, value.as_ref().to_str()?.to_owned()))
        });
        let wanted = |name: &str| WANTED.iter().any(|begin| name.starts_with(begin));
        let variables: BTreeMap<String, String> = pairs
            .chain(own)
            .filter(|(name, value)| wanted(name) && !value.trim().is_empty())
            .collect();
        let preload = variables.get("LD_PRELOAD");
        let preloaded = preload.is_some_and(|list| list.contains(BETWEEN))
            || read(&root.join("etc/ld.so.preload")).contains(BETWEEN);
        Self {
            variables,
            preloaded,
        }
    }

    /// Marks a device that is a share, with what was given of it.
    pub(super) fn mark(&self, device: &mut Arc<Device>) {
        let whole = device.kind == DeviceKind::Device && !device.virtual_share;
        if device.vendor != Vendor::Nvidia || !whole {
            return;
        }
        let Some(details) = self.cgpu().or_else(|| self.hami(device.index)) else {
            return;
        };
        let device = Arc::make_mut(device);
        device.virtual_share = true;
        let details = details.into_iter();
        let details = details.map(|(name, value)| (Arc::from(name), Arc::from(value)));
        device.details.extend(details);
    }

    fn whole_number(&self, name: &str) -> Option<u64> {
        let number = self.variables.get(name)?.trim().parse().ok()?;
        (number > 0).then_some(number)
    }

    /// A card that the scheduler gave as a whole (as much as it has) is no share.
    fn cgpu(&self) -> Option<Vec<(&'static str, String)>> {
        let given = self.whole_number("ALIYUN_COM_GPU_MEM_CONTAINER")?;
        let all = self.whole_number("ALIYUN_COM_GPU_MEM_DEV");
        if all.is_some_and(|all| given >= all) {
            return None;
        }
        let mut details = vec![(ShareKind::DETAIL, ShareKind::Cgpu.word().to_owned())];
        let unit = self.variables.get("ALIYUN_COM_GPU_MEM_UNIT");
        // Without a unit it is GiB, or MiB on clusters that were set up so: no card has a thousand GiB.
        let mib = match unit.map(|unit| unit.trim().to_ascii_lowercase()) {
            Some(unit) => unit.starts_with('m'),
            None => all.unwrap_or(given) >= 1000,
        };
        let bytes = given.checked_mul(1 << if mib { 20 } else { 30 });
        details.extend(bytes.map(|bytes| (ShareKind::MEMORY, bytes.to_string())));
        let ratio = all.map(|all| given as f64 / all as f64);
        details.extend(ratio.map(|ratio| (ShareKind::RATIO, format!("{ratio:.4}"))));
        Some(details)
    }

    fn hami(&self, index: u32) -> Option<Vec<(&'static str, String)>> {
        let of_this = format!("CUDA_DEVICE_MEMORY_LIMIT_{index}");
        let limit = [of_this.as_str(), "CUDA_DEVICE_MEMORY_LIMIT"]
            .iter()
            .find_map(|name| bytes(self.variables.get(*name)?));
        let time = self
            .whole_number("CUDA_DEVICE_SM_LIMIT")
            .filter(|percent| *percent < 100);
        if limit.is_none() && time.is_none() && !self.preloaded {
            return None;
        }
        let mut details = vec![(ShareKind::DETAIL, ShareKind::Hami.word().to_owned())];
        details.extend(limit.map(|bytes| (ShareKind::MEMORY, bytes.to_string())));
        let time = time.map(|percent| percent as f64 / 100.0);
        details.extend(time.map(|ratio| (ShareKind::TIME, format!("{ratio:.2}"))));
        Some(details)
    }
}

/// `1g`, `1024m`, `1048576k`, `1073741824`; 0 is no limit.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..)?.chars().next() {
        Some('g') => 30,
        Some('m') => 20,
        Some('k') => 10,
        Some(_) => return None,
        None => 0,
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    // What cannot be read tells of no share.
    let read = File::open(path).map(|file| file.take(LONGEST).read_to_end(&mut bytes));
    match read {
        Ok(Ok(_)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;

    fn card(index: u32) -> Arc<Device> {
        let mut device = crate::probe::process::tests::device("g", index);
        Arc::make_mut(&mut device).vendor = Vendor::Nvidia;
        device
    }

    /// What a device of this number is marked with: where the first process has `first`, we have `own`, and every
    /// program loads `preload`.
    fn marked(index: u32, first: &str, own: &[(&str, &str)], preload: &str) -> Option<Vec<String>> {
        let tree = Tree::new(&[
            ("proc/1/environ", &first.replace(' ', "\0")),
            ("etc/ld.so.preload", preload),
        ]);
        let shares = Surroundings::look(tree.root(), own.iter().copied());
        let mut device = card(index);
        shares.mark(&mut device);
        let said = |(name, value): &(Arc<str>, Arc<str>)| format!("{name}={value}");
        let details = device.details.iter().map(said).collect();
        device.virtual_share.then_some(details)
    }

    #[test]
    fn cgpu_is_known_by_what_the_scheduler_gave() {
        let gib = "PATH=/bin ALIYUN_COM_GPU_MEM_CONTAINER=3 ALIYUN_COM_GPU_MEM_DEV=15";
        let of_15 = [
            "share=cgpu",
            "share_memory_bytes=3221225472",
            "share_ratio=0.2000",
        ];
        assert_eq!(
            marked(0, gib, &[], "").as_deref(),
            Some(&of_15.map(str::to_owned)[..])
        );
        let mib = "ALIYUN_COM_GPU_MEM_CONTAINER=3803 ALIYUN_COM_GPU_MEM_DEV=7606";
        let half = [
            "share=cgpu",
            "share_memory_bytes=3987734528",
            "share_ratio=0.5000",
        ];
        assert_eq!(
            marked(0, mib, &[], "").as_deref(),
            Some(&half.map(str::to_owned)[..])
        );
        // Ours goes before the container's; a whole card, and nonsense, are no share.
        let own = [("ALIYUN_COM_GPU_MEM_CONTAINER", "15")];
        assert_eq!(marked(0, gib, &own, ""), None);
        for none in [
            "ALIYUN_COM_GPU_MEM_CONTAINER=0 ALIYUN_COM_GPU_MEM_DEV=15",
            "ALIYUN_COM_GPU_MEM_CONTAINER=-3",
            "ALIYUN_COM_GPU_MEM_CONTAINER=three ALIYUN_COM_GPU_MEM_DEV=15",
            "ALIYUN_COM_GPU_MEM_DEV=15",
            "",
        ] {
            assert_eq!(marked(0, none, &[], ""), None, "{none}");
        }
    }

    #[test]
    fn hami_is_known_by_its_limits_or_by_its_library() {
        let all =
            "CUDA_DEVICE_MEMORY_LIMIT=1g CUDA_DEVICE_MEMORY_LIMIT_1=3000m CUDA_DEVICE_SM_LIMIT=40";
        for (index, bytes) in [(0, 1_073_741_824_u64), (1, 3_145_728_000)] {
            let said = marked(index, all, &[], "").unwrap_or_default();
            let wanted = [
                "share=hami".to_owned(),
                format!("share_memory_bytes={bytes}"),
                "share_time_ratio=0.40".to_owned(),
            ];
            assert_eq!(said, wanted, "{index}");
        }
        let bare = Some(vec!["share=hami".to_owned()]);
        let library = "/usr/local/vgpu/libvgpu.so\n";
        assert_eq!(marked(0, "", &[], library), bare);
        let own = [("LD_PRELOAD", "/usr/local/vgpu/libvgpu.so")];
        assert_eq!(marked(0, "", &own, ""), bare);
        // No limit, a limit that is none, another library.
        for none in [
            "CUDA_DEVICE_MEMORY_LIMIT_1=3g",
            "CUDA_DEVICE_MEMORY_LIMIT=0m",
            "CUDA_DEVICE_SM_LIMIT=100",
            "CUDA_DEVICE_MEMORY_LIMIT=999999999999999999g",
            "CUDA_DEVICE_MEMORY_LIMIT=3x",
        ] {
            assert_eq!(
                marked(0, none, &[], "/lib/libjemalloc.so\n"),
                None,
                "{none}"
            );
        }
    }

    #[test]
    fn slices_and_other_vendors_are_left_alone() {
        let tree = Tree::new(&[("proc/1/environ", "CUDA_DEVICE_MEMORY_LIMIT=1g")]);
        let shares = Surroundings::look(tree.root(), [] as [(&str, &str); 0]);
        let device = card(0);
        let with = |change: &dyn Fn(&mut Device)| {
            let mut device = Arc::clone(&device);
            change(Arc::make_mut(&mut device));
            let before = device.clone();
            shares.mark(&mut device);
            device == before
        };
        assert!(!with(&|_| {}), "it marks this one");
        assert!(with(&|device| device.vendor = Vendor::Amd));
        assert!(with(&|device| device.kind = DeviceKind::Instance));
        assert!(with(&|device| device.virtual_share = true));
    }
}
