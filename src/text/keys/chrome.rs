//! Header, banners, key hints, and what stands around every screen.

catalogue! { chrome:
    /// The source is a live probe.
    chrome_live();
    /// The view is frozen; ticks go on.
    chrome_paused();
    /// The newest sample is older than two intervals.
    chrome_stale(age);
    chrome_age(age);
    /// Ticks that the screen did not draw.
    chrome_dropped(count);
    chrome_up(duration);
    /// The instance in one line of the header, as in "RunPod 8 x H100 SXM".
    chrome_fleet(count, times, name);
    chrome_fleet_more(count);
    chrome_no_devices();
    chrome_interval(interval);
    chrome_demo_banner(case);
    chrome_demo_speed(case, speed, times);
    chrome_replay_banner(file, at);
    chrome_replay_speed(file, at, speed, times);
    /// The picture is of the past while live goes on.
    chrome_past();
    chrome_past_banner(at, ago);
    /// A banner's text, where only rows by the minute are kept.
    chrome_by_the_minute(banner);
    chrome_past_failed(reason);
    /// There is no recording to look into.
    chrome_no_past();
    chrome_no_episode();
    chrome_remark_begin();
    chrome_remark_end();
    chrome_remark_end_live();
    chrome_remark_gap(from, to, span);
    chrome_remark_no_event_after();
    chrome_remark_no_event_before();
    /// Before the time that is being typed.
    chrome_entry();
    chrome_entry_form();
    chrome_entry_refused();
    chrome_key_event();
    chrome_key_time();
    chrome_key_live();
    /// A log of another program; times that name no zone were read in this one.
    chrome_log_banner(file, at, zone);
    chrome_log_speed(file, at, zone, speed, times);
    chrome_starting();
    chrome_copied(lines);
    /// Another process records what is shown.
    chrome_recorder(pid);
    chrome_recorder_interval(pid, seconds);
    /// A recorder that was followed has gone; this screen records.
    chrome_takes_over(pid);
    /// The same, and nothing is recorded.
    chrome_reads_itself(pid);
    chrome_recorder_silent(pid, seconds);
    chrome_recorder_other(pid);
    chrome_recorder_unreadable(pid, reason);
    chrome_place_vanishes(file);
    chrome_recording_set_aside();
    chrome_place_network(system);
    chrome_probes_failed(reason);
    /// This program records.
    chrome_recording();
    /// The disk takes nothing.
    chrome_recording_paused(reason);
    chrome_recording_paused_short();
    chrome_recording_failed(reason);
    chrome_recording_failed_short();
    /// Before the note that is being typed.
    chrome_note();
    chrome_note_keys();
    chrome_marked(note);
    chrome_mark_failed(reason);
    chrome_mark_demo();
    chrome_mark_replay();
    chrome_key_mark();
    chrome_key_select();
    chrome_key_open();
    chrome_key_verdict();
    chrome_key_episode();
    chrome_key_verdicts();
    chrome_key_pause();
    chrome_key_resume();
    chrome_key_interval();
    chrome_key_speed();
    chrome_key_copy();
    chrome_key_demo();
    chrome_key_retry();
    chrome_key_meter();
    chrome_key_hours();
    chrome_key_days();
    chrome_key_devices();
    chrome_key_starts();
    chrome_key_budget();
    chrome_key_back();
    chrome_key_help();
    chrome_key_quit();
    chrome_key_scroll();
    chrome_name_escape();
    chrome_name_page_up();
    chrome_name_page_down();
    chrome_name_home();
    chrome_name_end();
    chrome_name_backspace();
    chrome_name_ctrl(key);
}
