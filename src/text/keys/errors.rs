//! Errors that reach a person: the operation, the place, the next step.

catalogue! { errors:
    errors_terminal(reason);
    errors_not_a_terminal();
    errors_probe_start(reason);
    errors_read(path, reason);
    errors_write(path, reason);
    errors_config(path, line, reason);
    errors_did_you_mean(word);
    errors_no_accelerator();
    errors_unknown_case(name);
    errors_next(step);
}
