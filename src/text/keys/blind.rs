//! Evidence that is out of reach, and how to get it.

catalogue! { blind:
    blind_reasons();
    blind_processes();
    blind_host();
    blind_vendor(vendor);
    blind_own_work();
    // Why it is not there.
    blind_not_logged();
    blind_not_reported();
    blind_not_supported();
    blind_no_permission();
    blind_no_library();
    blind_share(software);
    // What would help.
    blind_how_columns(columns);
    blind_how_record();
    blind_how_gpm();
    blind_how_permission();
    blind_how_driver();
    blind_how_host();
    blind_how_share();
    blind_how_other();
}
