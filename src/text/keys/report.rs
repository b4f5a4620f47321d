//! The plain text of `nameplate once`.

catalogue! { report:
    /// The first line: which host, when.
    report_host(name, at);
    report_unnamed_host();
    report_cpu(share);
    report_load(load);
    report_memory(used, limit);
    report_swap(used);
    report_io_pressure(share);
    report_network(received, sent);
    report_disk(read, written);
}
