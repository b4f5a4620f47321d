//! The help screen; its rows come from the keymap.

catalogue! { help:
    help_section_move();
    help_section_views();
    help_section_stream();
    help_section_program();
    help_up();
    help_down();
    help_first();
    help_last();
    help_page_up();
    help_page_down();
    help_open();
    help_meter();
    help_meter_hours();
    help_meter_devices();
    help_meter_starts();
    help_back();
    help_pause();
    help_faster();
    help_slower();
    help_copy();
    help_demo();
    help_retry();
    help_help();
    help_quit();
    help_suspend();
    help_redraw();
    help_words();
    help_word_plate();
    help_word_work();
    help_word_head();
    help_word_held();
    help_word_capped();
    help_word_unobserved();
    help_word_absent(mark);
}
