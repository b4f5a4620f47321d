//! The commented sample that `nameplate config` prints. It says what holds without a file, and shows the rest as comments.

/// The sample. A test reads it, with its comments and without, so that it stays true.
pub const SAMPLE: &str = r##"# nameplate: configuration. Flags win over NAMEPLATE_* variables, these over this file, this over what is built in.
# A line that begins with "#" and a key shows something that has no value of its own.

[price]
# What an hour costs: a decimal, in quotes so that it stays exact. Without it: what the platform says.
#per_hour = "2.99"
# Of the whole "instance", or of each "device".
scope = "instance"
# Three letters.
currency = "USD"
# In what steps it is billed: "second", "minute" or "hour". Without it: as the platform's rule says, else by seconds.
#granularity = "second"
# A billing rule by its id, or its platform's. Without it: the platform's own.
#rule = "lambda_on_demand"
# When billing began (RFC 3339). Without it: as the platform says, else the container's start, the boot, the first sample.
#since = "2026-03-01T12:00:00Z"
# What an hour costs while the instance is stopped.
#stopped_per_hour = "0.05"

# Discounts for long use: after so much time the price is multiplied by the factor.
#[[price.tiers]]
#after = "720h"
#factor = "0.85"

# What seconds of a phase cost: a share of the price ("0": not billed), or an amount of their own per hour ("0.03/h").
# Without it: as the rule says, else all of it.
#[price.phases]
#compute = "1"
#io_wait = "0"
#queue = "1"
#idle = "0.03/h"
#unobserved = "1"

# Time bought in advance, and a payment in advance for a term.
#[price.prepaid]
#time = "100h"
#amount = "250"
#[price.upfront]
#amount = "1000"
#term = "720h"

# What is billed beside the instance's time: storage by the hour, traffic by 10^9 bytes both ways.
#[[price.extras]]
#storage_per_hour = "0.014"
#traffic_per_gb = "0.01"

[budget]
# What you want to spend, in the currency of the price.
#amount = "200"

[carbon]
# Where the power comes from: "platform:region" or "country:CODE". Without it: as the platform's region says.
#zone = "country:DEU"
# Grams of CO2 equivalent per kWh, and the data centre's power usage effectiveness, where you know better.
#intensity_g_per_kwh = "380"
#pue = "1.2"

[screen]
# How often devices are read: 0.1s to 60s.
interval = "1s"
# How far back the charts reach at full rate: 1m to 6h.
history = "15m"
# "dark", "light", "mono", or a file NAME.toml in the folder themes/ beside this file.
theme = "dark"
# Only ASCII characters. Without it, as the locale says.
#ascii = true
# "auto", "always", "never", "16", "256" or "truecolor".
color = "auto"
# The screen one line after another, for screen readers, simple terminals and pipes.
linear = false
# "en" or "zh-CN". Without it, as the locale says.
#lang = "en"
# The zone of logs that name none: "local", an IANA name or an offset.
tz = "local"

[thresholds]
# A second counts as compute where utilization is above this share.
compute_utilization = 0.1
# After so long without work a billed device counts as forgotten.
max_idle = "10m"

# What the verdicts' rules compare with, by cause; what is set here is said to be the configuration's. Seconds where a
# key ends in _s, degrees Celsius in _c, else shares and plain numbers.

#[verdict.device_lost]
# Seconds from the begin to the first suspicion; two polls.
#suspect_s = 2
# Seconds until it is sure: a driver that is loaded anew looks the same for a moment.
#sure_s = 10
#[verdict.ecc_xid]
# How long an XID is news: the first has no earlier zero to be compared with.
#news_s = 600
#[verdict.power_brake]
# Seconds to suspicion.
#suspect_s = 5
# Seconds to sure: a hardware slowdown may blink on a change of performance state.
#sure_s = 10
# Share of the time under the brake.
#time_ratio = 0.5
#[verdict.thermal]
# Seconds to suspicion.
#suspect_s = 5
# Seconds to sure.
#sure_s = 30
# Temperature that is too hot where a device reports no threshold.
#alarm_c = 82
# Degrees left that are none.
#headroom_c = 1
# Share of the time slowed for heat.
#time_ratio = 0.05
#[verdict.power_cap]
# Seconds to suspicion.
#suspect_s = 10
# Seconds to sure.
#sure_s = 60
# A limit below this share of the default is lowered.
#limit_ratio = 0.98
# Clocks held for power at less than this share of the limit are held by something else.
#held_ratio = 0.8
#[verdict.power_drift]
# Seconds to sure.
#sure_s = 3600
# Power below this share of the device's own reference: 240 of 250 W.
#power_ratio = 0.96
# Allowance of the CUSUM over 15-minute medians as a share of the reference: 5 of 250 W.
#allowance_ratio = 0.02
# Decision interval of the CUSUM as a share of the reference: 30 of 250 W. With a second witness beside it; the facts measured 40 W without one.
#decision_ratio = 0.12
# A reference whose median absolute deviation is larger than this share is too noisy to be held against.
#noise_ratio = 0.015
# Clock below this share of the reference is a second witness.
#clock_ratio = 0.99
#[verdict.clock_locked]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure.
#sure_s = 60
# Clock below this share of its maximum, or of the device's own reference.
#clock_ratio = 0.95
# Clock below this share of its maximum that nothing explains.
#low_ratio = 0.7
#[verdict.pcie_link]
# Seconds to suspicion.
#suspect_s = 5
# Seconds to sure: three polls ten seconds apart.
#sure_s = 30
#[verdict.pcie_saturated]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure.
#sure_s = 60
# Share of what the link carries.
#saturation_ratio = 0.8
# Work below this: a full link beside much work is no stall.
#work_ratio = 0.4
#[verdict.collective_wait]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure: what is abnormal for five minutes is a fault.
#sure_s = 300
# Utilization of a waiting kernel.
#utilization_ratio = 0.95
# Power span up to which a kernel spins: H100 and V100 were seen at 0 to 7 %.
#power_span_ratio = 0.1
# Power span up to which small cards spin: a T4 at a third.
#power_span_small_ratio = 0.45
# Standard deviation of power as a share of the limit.
#power_spread_ratio = 0.02
# Power over limit, where no span can be told, for limits of 250 W and more.
#power_limit_ratio = 0.25
# Bytes per second over PCIe or NVLink that are background.
#traffic_bytes_per_s = 100000000
# Memory or pipes busy up to this are not at work.
#memory_activity_ratio = 0.05
#[verdict.input_starved]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure.
#sure_s = 300
# Share of seconds without work.
#idle_ratio = 0.15
# CPU use of the owners, of what they may use.
#cpu_ratio = 0.85
#[verdict.host_throttled]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure.
#sure_s = 60
# Share of periods at the quota that is worth watching.
#watch_ratio = 0.05
# Share of periods at the quota that stalls.
#call_ratio = 0.25
#[verdict.disk_io]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure.
#sure_s = 60
# Time in which all tasks waited for storage.
#io_full_ratio = 0.05
#[verdict.network_io]
# Seconds to suspicion.
#suspect_s = 30
# Seconds to sure: two alerts of a minute each.
#sure_s = 120
# Share of TCP segments sent again.
#retransmit_ratio = 0.05
# Segments in a minute below which a share is noise.
#segments = 1000
# RDMA errors in a minute.
#rdma_errors = 10
#[verdict.launch_bound]
# Seconds to suspicion.
#suspect_s = 60
# Seconds to sure.
#sure_s = 300
# SMs busy below this beside full utilization.
#sm_active_ratio = 0.25
# Power span below this, where SM activity is not measured.
#power_span_ratio = 0.3
#[verdict.memory_leak]
# Growth of device memory in each third of two hours, as a share of all of it per hour.
#growth_ratio_per_h = 0.005
#[verdict.host_memory]
# Seconds to suspicion.
#suspect_s = 20
# Seconds to sure.
#sure_s = 60
# Time in which all tasks waited for memory.
#memory_full_ratio = 0.01
# Major faults of the owners per second.
#major_faults_per_s = 100
#[verdict.nvlink_down]
# Seconds to suspicion.
#suspect_s = 5
# Seconds to sure.
#sure_s = 30
# NVLink errors per second that fail a health check.
#errors_per_s = 100
#[verdict.straggler]
# Seconds to suspicion.
#suspect_s = 60
# Seconds to sure.
#sure_s = 300
# Slower than the median of the peers by this share.
#slower_ratio = 0.1
#[verdict.plate_mismatch]
# Seconds to suspicion.
#suspect_s = 5
# Seconds to sure.
#sure_s = 30
# The driver's default limit below this share of the rated power.
#default_ratio = 0.95
#[verdict.idle_billed]
# Seconds without work before it is said; it counts after `max_idle` in `[thresholds]`.
#suspect_s = 60
#[verdict.counter_frozen]
# Seconds in which no reading of a busy device changed.
#suspect_s = 30
# Seconds to sure.
#sure_s = 60
#[verdict.warm_up]
# Seconds after a process began that are its start-up.
#seconds_s = 600
#[verdict.memory_bound]
# Memory busy from here on is a memory-bound load.
#memory_activity_ratio = 0.5
#[verdict.checkpoint_pause]
# Bytes per second that owners write while a checkpoint is stored.
#write_bytes_per_s = 50000000
#[verdict.eval_pause]
# A pause shorter than this many times the longest earlier one is not reported.
#longer_ratio = 2
#[verdict.power_smoothing]
# Power span from which on idle pipes mean artificial load.
#power_span_ratio = 0.5
# Pipes busy below this are idle.
#pipes_ratio = 0.05

[nvidia]
# Another library with NVML's names. Never taken from the environment.
#library = "/opt/corex/lib64/libixml.so"

[ascend]
# Another libdcmi.so.
#library = "/usr/local/Ascend/driver/lib64/driver/libdcmi.so"
# Measure PCIe traffic: a call that blocks for 100 ms a device, in a process of its own; in whole GB/s, on bare metal and in
# privileged containers only.
#measure_pcie = true

[cambricon]
# Another libcndev.so.
#library = "/usr/local/neuware/lib64/libcndev.so"

[gaudi]
# Another libhlml.so.
#library = "/usr/lib/habanalabs/libhlml.so"

[platform]
# Whether to ask the rental platform who and where this instance is, and what it costs. Files NAME.toml in the folder
# platforms/ beside this file are platforms of your own (assets/docs/platforms.md tells how).
enabled = true
# Where it cannot be found out; `nameplate platforms` names them.
#name = "runpod"
# Scheme, host and port that are asked in its place.
#url = "https://api.example.org"
# A file with the platform's key, where it has no place of its own; only its owner may read it (mode 0600).
#key_file = "/home/me/.config/nameplate/platform.key"
#instance_id = "abc123"

[record]
# Whether the live screen keeps a recording.
enabled = true
# Where it lies, and the logs: a mounted volume where a container's home goes with the container. Without it, the user's
# state folder (XDG_STATE_HOME).
#state_dir = "/workspace/nameplate"
# When a screen that records ends: "record" leaves a recorder in the background, "stop" none. Without it, "record" where a
# price is known.
#after_logout = "record"
"##;
