//! The text of `nameplate diagnose`.

catalogue! { diagnosis:
    /// What was read, and how its times were.
    diagnosis_log(file, format, zone);
    diagnosis_recording(file);
    diagnosis_watched(from, to, span, interval);
    diagnosis_untimed();
    diagnosis_watching(span);
    diagnosis_evidence();
    diagnosis_not();
    diagnosis_next();
    diagnosis_since(at, span);
    diagnosis_sure_in(span);
    diagnosis_sure_needs();
    diagnosis_instant();
    diagnosis_earlier();
    diagnosis_from_to(from, to);
    diagnosis_cannot_see();
    diagnosis_line(line, text);
    diagnosis_mark(at, text);
    diagnosis_result_ok();
    diagnosis_result_suspected(count);
    diagnosis_result_certain(count);
    diagnosis_more(count);
}
