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
# In what steps it is billed: "second", "minute" or "hour".
granularity = "second"
# When billing began (RFC 3339). Without it: as the platform says, else the container's start, the boot, the first sample.
#since = "2026-03-01T12:00:00Z"

# Discounts for long use: after so much time the price is multiplied by the factor.
#[[price.tiers]]
#after = "720h"
#factor = "0.85"

[budget]
# What you want to spend, in the currency of the price.
#amount = "200"

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
# One line after another, for screen readers and logs (not in this version: nothing changes).
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

[nvidia]
# Another library with NVML's names. Never taken from the environment.
#library = "/opt/corex/lib64/libixml.so"

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
# Whether `nameplate` keeps a recording (not in this version).
enabled = true
"##;
