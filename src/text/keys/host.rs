//! The host's readings.

catalogue! { host:
    host_cpu();
    host_load();
    host_memory();
    host_memory_limit();
    host_pressure_cpu();
    host_pressure_io();
    host_pressure_memory();
    host_throttled();
    host_network_in();
    host_network_out();
    host_disk_read();
    host_disk_write();
}
