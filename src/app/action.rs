//! What a key can ask for.

use super::playback::Order;

/// One thing that the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The device above, or one line up.
    Up,
    /// The device below, or one line down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// The first device, or the top.
    First,
    /// The last device, or the bottom.
    Last,
    /// Everything known of the selected device.
    Open,
    /// All verdicts, now and before.
    Verdicts,
    /// What the rental costs.
    Meter,
    /// In the meter: by hours, or by days.
    MeterHours,
    /// In the meter: each device.
    MeterDevices,
    /// In the meter: the starts.
    MeterStarts,
    /// The table in another order.
    Sort,
    /// Only some devices in the table.
    Filter,
    /// In the meter: type a budget.
    MeterBudget,
    /// Back to the overview.
    Back,
    /// Hold the picture, or let it go on.
    Pause,
    /// Sample more often.
    Faster,
    /// Sample less often.
    Slower,
    /// Copy the lines that a provider's support needs.
    Copy,
    /// A step back in the recording.
    StepBack,
    /// A step forward.
    StepForward,
    /// Shorter steps.
    StepShorter,
    /// Longer steps.
    StepLonger,
    /// One tick back.
    TickBack,
    /// One tick forward.
    TickForward,
    /// The last thing that happened before this.
    EventBefore,
    /// The next thing that happened.
    EventAfter,
    /// Where the recording begins.
    Begin,
    /// Its end; from the past back to live.
    End,
    /// Where the selected device's episode begins.
    EpisodeBegin,
    /// A time that is typed.
    GoTo,
    /// A note at this instant.
    Mark,
    /// Start the demo (where there is no accelerator).
    Demo,
    /// Look for accelerators again.
    Retry,
    /// The help page.
    Help,
    /// Draw everything anew.
    Redraw,
    /// To the shell; `fg` comes back.
    Suspend,
    /// End.
    Quit,
}

/// What the program around the state has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// End.
    Quit,
    /// Tell the source another interval.
    Interval(std::time::Duration),
    /// Ask the recording for something.
    Play(Order),
    /// Tell the source another speed; zero holds it.
    Speed(f64),
    /// Put this text into the terminal's clipboard.
    Copy(String),
    /// Tell the source a note at this instant.
    Mark(String),
    /// Take the demo as source instead.
    Demo,
    /// Start the live source anew.
    Retry,
    /// Repaint every cell.
    Redraw,
    /// Stop as a job.
    Suspend,
}
