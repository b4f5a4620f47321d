//! Shares of a card: what a container or a guest was given of one, by which software, and whose the readings are.

use super::device::{Device, DeviceKind};

/// What divides a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareKind {
    /// NVIDIA's vGPU: the guest has a device of its own, whose nameplate is nobody's.
    Vgpu,
    /// Alibaba Cloud's cGPU, a kernel module below the containers.
    Cgpu,
    /// HAMi and its like: a library between the programs and the driver.
    Hami,
}

impl ShareKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Vgpu, Self::Cgpu, Self::Hami];
    /// The name of the detail of a device that says which.
    pub const DETAIL: &'static str = "share";
    /// The detail with the memory that was given, in bytes.
    pub const MEMORY: &'static str = "share_memory_bytes";
    /// The detail with the part of the card's memory that was given, 0 to 1.
    pub const RATIO: &'static str = "share_ratio";
    /// The detail with the part of the card's time that may be used at most, 0 to 1.
    pub const TIME: &'static str = "share_time_ratio";

    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Vgpu => "vgpu",
            Self::Cgpu => "cgpu",
            Self::Hami => "hami",
        }
    }

    /// The name that its makers give it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Vgpu => "vGPU",
            Self::Cgpu => "cGPU",
            Self::Hami => "HAMi",
        }
    }

    /// The kind that a word means.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Above this part of the share, a memory in all is not the share's but the card's: what divides the card does not hold
/// the memory apart (cGPU with `CGPU_DISABLE`, the bare scheduler plug-in).
const NOT_HELD_APART: f64 = 1.25;

impl Device {
    /// What divides the card that this is a share of; `None` for a whole one.
    #[must_use]
    pub fn share(&self) -> Option<ShareKind> {
        let said = || ShareKind::of_word(self.detail(ShareKind::DETAIL)?);
        self.virtual_share
            .then(|| said().unwrap_or(ShareKind::Vgpu))
    }

    /// What stands before its name in tables: a vGPU has a name of its own, what containers share has the card's.
    #[must_use]
    pub fn shared_by(&self) -> Option<&'static str> {
        match self.share()? {
            ShareKind::Vgpu => None,
            kind => Some(kind.title()),
        }
    }

    /// The part of the card's memory that was given, where that is said.
    #[must_use]
    pub fn share_ratio(&self) -> Option<f64> {
        self.share_number(ShareKind::RATIO)
    }

    /// The memory that was given, in bytes, where that is said.
    #[must_use]
    pub fn share_memory(&self) -> Option<f64> {
        self.share_number(ShareKind::MEMORY)
    }

    /// Whether the memory in all that the driver tells is more than what was given: it is the card's, then.
    #[must_use]
    pub fn memory_is_the_cards(&self, total: Option<f64>) -> bool {
        self.share_memory()
            .zip(total)
            .is_some_and(|(given, total)| total > given * NOT_HELD_APART)
    }

    /// Whether power, limits, heat, clocks and link are a whole card's, so that its nameplate says something of them: not
    /// so for slices and vGPUs. A card shared by containers is one card, whoever uses it.
    #[must_use]
    pub fn has_plate(&self) -> bool {
        self.kind == DeviceKind::Device
            && matches!(self.share(), None | Some(ShareKind::Cgpu | ShareKind::Hami))
    }

    fn share_number(&self, name: &str) -> Option<f64> {
        self.share()?;
        let number: f64 = self.detail(name)?.parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(number)
    }

    fn detail(&self, name: &str) -> Option<&str> {
        let mut details = self.details.iter();
        details.find_map(|(known, value)| (&**known == name).then_some(&**value))
    }
}
