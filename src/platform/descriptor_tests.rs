//! What a descriptor may ask for.
#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

#[test]
fn credentials_are_never_asked_for() {
    for path in [
        "/latest/meta-data/iam/security-credentials/role",
        "/latest/meta-data/ram/security-credentials/",
        "/latest/meta-data/cam/security-credentials/x",
        "/openstack/latest/securitykey",
        "/latest/user-data",
        "/metadata/identity/oauth2/token?api-version=2018-02-01",
        "/computeMetadata/v1/instance/service-accounts/default/token",
        "/computeMetadata/v1/instance/attributes/ssh-keys",
        "/latest/../latest/user-data",
        "no-slash",
        "/a/{secret}",
        "/a?key={key}",
    ] {
        assert!(checked_path(path).is_err(), "{path}");
    }
    assert!(checked_path("/v2/pods/{instance}").is_ok());
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let head = "name = \"mine\"\ntitle = \"Mine\"\nsource = \"me\"\n";
    for (text, what) in [
        ("nam = 1", "line 1"),
        ("api = \"http://example.com\"", "https"),
        ("metadata = \"http://10.0.0.1\"", "no metadata address"),
        ("adapter = \"none-such\"", "adapter"),
        (
            "api = \"https://a.example\"\n[[request]]\nplace = \"api\"\npath = \"/a\"\nform = \"json\"\nevery_s = 5",
            "every_s",
        ),
        (
            "[[request]]\nplace = \"metadata\"\npath = \"/a\"\nform = \"text\"",
            "no metadata address",
        ),
    ] {
        let text = if text.starts_with("nam ") {
            text.to_owned()
        } else {
            format!("{head}{text}\n")
        };
        let error = Descriptor::parse(&text).unwrap_err().to_string();
        assert!(error.contains(what) && !error.contains('\n'), "{error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,120}") {
        let _ = Descriptor::parse(&text);
    }
}
