//! Why a platform's answer is none. The platform's part writes these in English, for documents and recordings; the screen
//! finds them again by their English sentences (`text/trouble`).

catalogue! { trouble:
    trouble_notices(why);
    trouble_not_yet();
    trouble_no_more();
    trouble_key_wrong();
    trouble_key_may_not();
    trouble_no_such(status);
    trouble_too_often();
    trouble_elsewhere(status);
    trouble_failed(status);
    trouble_timed_out(seconds);
    trouble_unreachable(why);
    trouble_too_large(kib);
    trouble_broken(why);
    trouble_plain_key();
    trouble_bad_header();
    trouble_name_unknown();
    trouble_nobody();
    trouble_no_connection();
    trouble_certificate();
    trouble_not_tls();
    trouble_request();
    trouble_closed();
    trouble_not_http();
    trouble_not_whole();
    trouble_token();
    trouble_no_list();
    trouble_no_name(count);
    trouble_no_host(count);
    trouble_no_text();
    trouble_page();
    trouble_empty();
    trouble_begin(what);
    trouble_no_json();
    trouble_says_failed();
    trouble_header(header);
    trouble_has_no(what);
    trouble_instance();
    trouble_key();
    trouble_address();
    trouble_key_open(file);
    trouble_key_empty(file);
    trouble_key_unreadable(file, why);
    trouble_nothing();
    trouble_by_flag();
    trouble_by_root();
    trouble_only_check();
}
