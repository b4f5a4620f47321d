//! What was looked for on a host without an accelerator, what was found, and what to do.

catalogue! { probe:
    probe_none_title();
    probe_none_hint(key);
    probe_looked_for(library);
    probe_status_ok(version);
    probe_status_no_library();
    probe_status_no_device();
    probe_status_mismatch();
    probe_status_no_permission();
    probe_status_crashed();
    probe_status_timed_out();
    probe_next_install_driver(vendor);
    probe_next_container_flag();
    probe_next_reload();
    probe_next_group(group);
    probe_next_library_flag(flag);
    probe_host_works();
    probe_next_no_hardware(vendor);
    probe_next_recreate();
    probe_next_library_path(first, second);
    probe_next_held(vendor);
    probe_next_container_ascend();
    probe_next_container_devices(flags);
    probe_next_install_library(library);
    probe_next_tool(tool);
    probe_next_no_reader(vendor);
}
