//! What the rules are shown of a device at one instant: plain numbers, each there or not.

use super::peers::Peers;
use crate::model::{Device, DeviceId, DeviceProcess, Disagreement, HostSample, Process};
use crate::units::MonoTime;
use jiff::Timestamp;

/// What the host says of the processes that own a device, added up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Owners {
    /// How many the driver lists; `None` where it does not say.
    pub listed: Option<u32>,
    /// Some of them are ours, so that the host can say something of them.
    pub ours: bool,
    /// Device memory that they hold, in bytes.
    pub held_bytes: Option<f64>,
    /// Cores that they use.
    pub cores: Option<f64>,
    /// Their threads in uninterruptible wait; only looked for while the device does nothing.
    pub waiting: Option<f64>,
    /// Bytes that they read from storage per second.
    pub reads: Option<f64>,
    /// Bytes that they write to storage per second.
    pub writes: Option<f64>,
    /// Major faults per second.
    pub faults: Option<f64>,
    /// Seconds since the youngest began.
    pub youngest_s: Option<f64>,
    /// Which programs with which arguments: equal for the same work (see [`work_key`]).
    pub key: u64,
}

impl Owners {
    /// Adds up what is known of these processes. `host` finds one by its PID.
    #[must_use]
    pub fn of<'a>(
        list: &[DeviceProcess],
        host: impl Fn(u32) -> Option<&'a Process>,
        at: Timestamp,
    ) -> Self {
        let mut owners = Self {
            listed: Some(u32::try_from(list.len()).unwrap_or(u32::MAX)),
            ..Self::default()
        };
        let add = |sum: &mut Option<f64>, value: Option<f64>| {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0.0) + value);
            }
        };
        for process in list {
            add(&mut owners.held_bytes, process.memory_bytes.ok());
            let Some(known) = host(process.pid).filter(|p| !p.foreign) else {
                continue;
            };
            owners.ours = true;
            add(&mut owners.cores, known.cpu_cores.ok());
            add(
                &mut owners.waiting,
                known.waiting_threads.ok().map(f64::from),
            );
            add(&mut owners.reads, known.read_bytes_per_s.ok());
            add(&mut owners.writes, known.write_bytes_per_s.ok());
            add(&mut owners.faults, known.major_faults_per_s.ok());
            if let Ok(started) = known.started {
                let age = at.duration_since(started).as_secs_f64().max(0.0);
                owners.youngest_s = Some(owners.youngest_s.map_or(age, |y| y.min(age)));
            }
            owners.key = owners.key.wrapping_add(work_key(known));
        }
        owners
    }
}

/// A number for a program with its arguments (FNV-1a), equal over restarts of the same work.
#[must_use]
pub fn work_key(process: &Process) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let name = process.name.as_deref().unwrap_or_default();
    let command = process.command.as_deref().unwrap_or_default();
    for byte in name.bytes().chain([0]).chain(command.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// A device at one instant. Numbers are of this tick, in the units of the contract's names; `None` is not there, not 0.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // the contract's names, where nothing stands beside them
pub struct Seen<'a> {
    pub at: Timestamp,
    pub now: MonoTime,
    pub interval_s: f64,
    /// Seconds that this look stands for: 0 for the first, and after a gap.
    pub dt: f64,
    pub device: &'a Device,
    /// A sample came in this tick.
    pub fresh: bool,
    /// No answer for so many seconds.
    pub silent_s: Option<f64>,
    /// The driver says that it is gone.
    pub lost: bool,
    /// All devices of this machine are lost or silent at once.
    pub all_lost: bool,
    pub power_w: Option<f64>,
    pub limit_w: Option<f64>,
    pub default_limit_w: Option<f64>,
    pub plate_w: Option<f64>,
    pub rated_w: Option<f64>,
    /// Power's place between resident-idle power and limit.
    pub span: Option<f64>,
    /// Resident-idle power was learned, not estimated.
    pub span_learned: bool,
    pub temperature_c: Option<f64>,
    pub headroom_c: Option<f64>,
    /// The headroom is to a threshold of the device's own.
    pub own_threshold: bool,
    pub memory_temperature_c: Option<f64>,
    pub memory_max_c: Option<f64>,
    pub utilization: Option<f64>,
    pub memory_activity: Option<f64>,
    pub sm_active: Option<f64>,
    pub tensor_active: Option<f64>,
    pub dram_active: Option<f64>,
    pub memory_used: Option<f64>,
    pub memory_total: Option<f64>,
    /// Bytes of memory that the model was sold with.
    pub plate_memory: Option<f64>,
    pub clock_mhz: Option<f64>,
    pub clock_max_mhz: Option<f64>,
    /// The application clock that is set.
    pub set_clock_mhz: Option<f64>,
    /// Throttle bits.
    pub bits: Option<u64>,
    pub performance_state: Option<f64>,
    /// Seconds under sw_power_cap, sync_boost, sw_thermal, hw_thermal and brake since the session began.
    pub reason_s: [Option<f64>; 5],
    pub width: Option<u8>,
    pub width_max: Option<u8>,
    /// A width that whole families of hosts run this model at.
    pub usual_width: Option<u8>,
    pub generation: Option<u8>,
    pub generation_max: Option<u8>,
    /// The maxima are the table's, not only the driver's.
    pub link_by_plate: bool,
    /// Lanes of the narrowest real bridge on the way.
    pub bridge_width: Option<u8>,
    /// The link is in use and the device in a state for work, so that the link can be judged.
    pub link_in_use: bool,
    pub usable_bytes_per_s: Option<f64>,
    pub rx_bytes_per_s: Option<f64>,
    pub tx_bytes_per_s: Option<f64>,
    pub rx_saturation: Option<f64>,
    pub tx_saturation: Option<f64>,
    /// Both directions together over twice what one carries, of devices that do not tell them apart.
    pub both_saturation: Option<f64>,
    /// Their bytes.
    pub both_bytes_per_s: Option<f64>,
    pub nvlink_links: Option<f64>,
    pub nvlink_up: Option<f64>,
    /// The model is never sold without NVLink between its boards.
    pub nvlink_expected: bool,
    pub nvlink_bytes_per_s: Option<f64>,
    pub nvlink_errors: Option<f64>,
    pub energy_j: Option<f64>,
    pub ecc_uncorrected: Option<f64>,
    pub remap_failed: Option<f64>,
    pub remap_pending: Option<f64>,
    pub recovery_action: Option<f64>,
    /// What the vendor's library thinks of the device: 0 healthy to 3 critical fault.
    pub health: Option<f64>,
    /// The newest XID worth a word, and seconds since.
    pub xid: Option<(u32, f64)>,
    pub owners: Owners,
    pub host: Option<&'a HostSample>,
    /// Cores that can be seen.
    pub host_cores: Option<f64>,
    /// Where the platform and the drivers differ: of one device, or of the whole instance (`None`).
    pub disagreements: &'a [(Option<DeviceId>, Disagreement)],
    pub peers: &'a Peers,
}

impl Seen<'_> {
    /// PCIe bytes both ways.
    #[must_use]
    pub fn pcie(&self) -> Option<f64> {
        match (self.rx_bytes_per_s, self.tx_bytes_per_s) {
            (Some(rx), Some(tx)) => Some(rx + tx),
            (one, other) => one.or(other).or(self.both_bytes_per_s),
        }
    }

    /// The saturation of both directions together, where neither is known alone. Neither can be above twice of it, and one is
    /// at least as high.
    #[must_use]
    pub fn summed(&self) -> Option<f64> {
        let alone = self.rx_saturation.is_some() || self.tx_saturation.is_some();
        self.both_saturation.filter(|_| !alone)
    }

    /// Clock over its maximum.
    #[must_use]
    pub fn clock_ratio(&self) -> Option<f64> {
        let most = self.clock_max_mhz.filter(|m| *m > 0.0)?;
        Some(self.clock_mhz? / most)
    }

    /// Power over the enforced limit.
    #[must_use]
    pub fn power_of_limit(&self) -> Option<f64> {
        let limit = self.limit_w.or(self.plate_w).filter(|l| *l > 0.0)?;
        Some(self.power_w? / limit)
    }

    /// A number of the host, where its sample is fresh.
    #[must_use]
    pub fn host(&self, pick: impl Fn(&HostSample) -> crate::model::Reading<f64>) -> Option<f64> {
        self.host.and_then(|host| pick(host).ok())
    }

    /// Cores that the owners may use.
    #[must_use]
    pub fn allowed_cores(&self) -> Option<f64> {
        let quota = self.host(|h| h.cpu_quota_cores).filter(|q| *q > 0.0);
        match (quota, self.host_cores) {
            (Some(quota), Some(cores)) => Some(quota.min(cores)),
            (one, other) => one.or(other),
        }
    }

    /// Cores that the owners use, over those that they may use.
    #[must_use]
    pub fn owner_cpu(&self) -> Option<f64> {
        let allowed = self.allowed_cores().filter(|a| *a > 0.0)?;
        Some(self.owners.cores? / allowed)
    }

    /// Looks in so many seconds, at least four.
    pub(crate) fn looks(&self, seconds: f64) -> usize {
        ((seconds / self.interval_s.max(0.05)).round() as usize).clamp(4, super::window::LOOKS)
    }
}
