//! The integration tests: one binary, a module per subject.
//!
//! The fake libraries are examples. `cargo test` without target flags builds them; before
//! `cargo test --test it`, say `cargo build --examples`.

mod agreement;
mod amd;
mod amd_captures;
mod amd_traffic;
mod ascend;
mod ascend_states;
mod ascend_traffic;
mod both_ways;
mod bounds;
mod cambricon;
mod commands;
mod contract;
mod corpus_cases;
mod environment;
mod fake_nvml;
mod fake_nvml_process;
mod gaudi;
mod hardy;
mod house;
mod intel;
mod linear;
mod logs;
mod merge;
mod meter;
mod mixed;
mod mixed_node;
mod nvidia;
mod nvidia_captures;
mod nvidia_states;
mod past;
mod platform_program;
mod platform_screen;
mod platform_tls;
mod platforms;
mod pty;
mod real_host;
mod recorder;
mod recording;
mod refresh;
#[path = "../support/score.rs"]
mod score;
mod screens;
mod seen;
mod shares;
mod sharing;
mod stage;
#[path = "../support/story.rs"]
mod story;
#[path = "../support/mod.rs"]
mod support;
mod tools;
mod verdict_score;
mod verdict_view;
