//! User names.

use super::files::Files;
use std::collections::HashMap;
use std::sync::Arc;

/// Names by number, from /etc/passwd under the root. Network directories are not asked: they can block for minutes,
/// and the number is what the kernel knows.
#[derive(Debug, Default)]
pub(super) struct Users {
    known: HashMap<u32, Arc<str>>,
}

impl Users {
    /// The user's name, cleaned, or the number.
    pub(super) fn name(&mut self, files: &mut Files, uid: u32) -> Arc<str> {
        const MOST: usize = 1024;
        if let Some(name) = self.known.get(&uid) {
            return Arc::clone(name);
        }
        let name: Arc<str> = match files.read("/etc/passwd") {
            Ok(text) => lookup(&text, uid).map_or_else(
                || Arc::from(uid.to_string()),
                |name| Arc::from(&*crate::text::clean(name)),
            ),
            Err(_) => Arc::from(uid.to_string()),
        };
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(uid, Arc::clone(&name));
        name
    }
}

fn lookup(passwd: &str, uid: u32) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

/// The real user id from /proc/PID/status.
pub(super) fn real_uid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tree::Tree;
    use proptest::prelude::*;

    #[test]
    fn a_name_or_the_number() {
        let tree = Tree::new(&[(
            "/etc/passwd",
            "root:x:0:0::/root:/bin/sh\n:x:5:5\nbad\nml\u{202e}:x:1000:1000::/:/x\n",
        )]);
        let mut files = Files::new(tree.root());
        let mut users = Users::default();
        for (uid, name) in [(0, "root"), (1000, "ml"), (5, "5"), (77, "77")] {
            assert_eq!(&*users.name(&mut files, uid), name);
        }
        assert_eq!(real_uid("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(1000));
        assert_eq!(real_uid("Uid:\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(Uid:|:|x|[0-9]|\\n|\\PC){0,40}") {
            let _ = (lookup(&text, 0), real_uid(&text));
        }
    }
}
