//! `gpu_metrics`: what the card's firmware says, in one read.
//!
//! The kernel's structures (`kgd_pp_interface.h`) have a header with size, format and content revision, natural C
//! alignment, little endian. Revisions are not append-only: each is read by its own offsets or not at all. All-ones are
//! values that the card does not have.

/// Why a blob is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// It does not hold what its header says: read while it was written, or cut.
    Torn,
    /// A revision that nobody taught us: 1.0, 1.9, those of APUs, later ones.
    Revision(u8, u8),
}

/// Where a clock is: the offset of the first, and how many there are.
type Clocks = (usize, usize);

/// Where the parts of a revision are.
struct Layout {
    content: u8,
    /// The structure's size. Later kernels may have longer partitions behind the parts that are read here.
    size: usize,
    longer: bool,
    edge: Option<usize>,
    hotspot: usize,
    memory: usize,
    power: usize,
    power_is_average: bool,
    /// Core activity in per cent; the memory's follows.
    activity: usize,
    energy: usize,
    /// Width in lanes; the speed in 0.1 GT/s follows.
    link: usize,
    /// PCIe traffic of the moment, both ways.
    traffic: Option<usize>,
    core_clocks: Clocks,
    average_clock: Option<usize>,
    memory_clock: usize,
    /// The firmware's own mask, whose bits differ from chip to chip.
    mask: Option<usize>,
    /// The mask whose bits are the same on all chips.
    causes: Option<usize>,
    /// Accumulation counter, then the residencies.
    residency: Option<usize>,
}

/// Revisions 1.1 to 1.3 (MI100, MI200, Navi) share a beginning.
const fn navi(content: u8, size: usize, causes: Option<usize>) -> Layout {
    Layout {
        content,
        size,
        longer: false,
        edge: Some(4),
        hotspot: 6,
        memory: 8,
        power: 22,
        power_is_average: true,
        activity: 16,
        energy: 24,
        link: 74,
        traffic: None,
        core_clocks: (54, 1),
        average_clock: Some(40),
        memory_clock: 58,
        mask: Some(68),
        causes,
        residency: None,
    }
}

/// Revisions from 1.4 on (MI300 family) begin alike and then differ.
const fn instinct(content: u8, size: usize, energy: usize, link: usize, clocks: usize) -> Layout {
    Layout {
        content,
        size,
        longer: false,
        edge: None,
        hotspot: 4,
        memory: 6,
        power: 10,
        power_is_average: false,
        activity: 12,
        energy,
        link,
        // Two accumulators more lie between them since 1.6.
        traffic: Some(link + if content < 6 { 24 } else { 28 }),
        core_clocks: (clocks, 8),
        average_clock: None,
        memory_clock: clocks + 40,
        mask: None,
        causes: None,
        residency: None,
    }
}

const LAYOUTS: [Layout; 8] = [
    navi(1, 96, None),
    navi(2, 104, None),
    navi(3, 120, Some(112)),
    Layout {
        mask: Some(40),
        ..instinct(4, 288, 24, 48, 240)
    },
    Layout {
        mask: Some(104),
        ..instinct(5, 360, 88, 112, 312)
    },
    Layout {
        residency: Some(32),
        ..instinct(6, 1664, 16, 60, 264)
    },
    Layout {
        residency: Some(40),
        ..instinct(7, 2208, 24, 68, 296)
    },
    Layout {
        residency: Some(40),
        longer: true,
        // Up to the partitions; their size differs between texts.
        ..instinct(8, 352, 24, 68, 296)
    },
];

/// Time under each cause, as counts of the firmware's own steps (32 bits, they wrap).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Residency {
    /// Steps in all.
    pub(super) steps: u32,
    /// PROCHOT, package power, socket heat, regulator heat, memory heat.
    pub(super) causes: [u32; 5],
}

/// What a blob said; what the card does not have is `None`. Numbers are as they stand there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Blob {
    /// The content revision of format 1.
    pub(super) content: u8,
    /// Degrees Celsius.
    pub(super) edge: Option<f64>,
    /// Degrees Celsius.
    pub(super) hotspot: Option<f64>,
    /// Degrees Celsius.
    pub(super) memory: Option<f64>,
    /// Watts.
    pub(super) power: Option<f64>,
    /// The power is an average, not an instant.
    pub(super) power_is_average: bool,
    /// Per cent.
    pub(super) activity: Option<f64>,
    /// Per cent.
    pub(super) memory_activity: Option<f64>,
    /// Counts of 2^-16 J on Instinct cards.
    pub(super) energy: Option<f64>,
    /// Lanes and 0.1 GT/s.
    pub(super) link: (Option<u16>, Option<u16>),
    /// PCIe traffic both ways, in a unit that the driver's texts disagree on.
    pub(super) traffic: Option<u64>,
    /// The fastest of the core clocks, in MHz: single ones of a package may rest or read wrong.
    pub(super) core_clock: Option<f64>,
    /// MHz.
    pub(super) memory_clock: Option<f64>,
    /// The firmware's own mask.
    pub(super) mask: Option<u32>,
    /// The mask of causes.
    pub(super) causes: Option<u64>,
    /// Time under each cause.
    pub(super) residency: Option<Residency>,
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let bytes: [u8; N] = self.0.get(at..at + N)?.try_into().ok()?;
        (bytes != [0xFF; N]).then_some(bytes)
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    fn number(&self, at: usize) -> Option<f64> {
        self.u16(at).map(f64::from)
    }
}

/// Reads a blob of a revision that is known exactly.
///
/// # Errors
/// It is torn, or of another revision.
pub(super) fn decode(bytes: &[u8]) -> Result<Blob, Refused> {
    let &[low, high, format, content, ..] = bytes else {
        return Err(Refused::Torn);
    };
    let size = usize::from(u16::from_le_bytes([low, high]));
    let layout = LAYOUTS
        .iter()
        .find(|layout| format == 1 && layout.content == content)
        .ok_or(Refused::Revision(format, content))?;
    let fits = match layout.longer {
        true => size >= layout.size,
        false => size == layout.size,
    };
    // A page of zeros or ones behind the structure is none of it.
    let body = bytes.get(..size).filter(|_| fits).ok_or(Refused::Torn)?;
    let read = Reader(body);
    let (first, count) = layout.core_clocks;
    let clocks = (0..count).filter_map(|n| read.u16(first + 2 * n));
    Ok(Blob {
        content,
        edge: layout.edge.and_then(|at| read.number(at)),
        hotspot: read.number(layout.hotspot),
        memory: read.number(layout.memory),
        power: read.number(layout.power),
        power_is_average: layout.power_is_average,
        activity: read.number(layout.activity),
        memory_activity: read.number(layout.activity + 2),
        energy: read.u64(layout.energy).map(|count| count as f64),
        link: (read.u16(layout.link), read.u16(layout.link + 2)),
        traffic: layout.traffic.and_then(|at| read.u64(at)),
        core_clock: clocks
            .max()
            .or_else(|| read.u16(layout.average_clock?))
            .map(f64::from),
        memory_clock: read.number(layout.memory_clock),
        mask: layout.mask.and_then(|at| read.u32(at)),
        causes: layout.causes.and_then(|at| read.u64(at)),
        residency: layout.residency.and_then(|at| {
            let mut causes = [0; 5];
            for (n, cause) in causes.iter_mut().enumerate() {
                *cause = read.u32(at + 4 + 4 * n)?;
            }
            Some(Residency {
                steps: read.u32(at)?,
                causes,
            })
        }),
    })
}

#[cfg(test)]
#[path = "blob_tests.rs"]
mod tests;
