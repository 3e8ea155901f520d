//! A folder with an encrypted tree, and the command that runs there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder with a key, a source tree and commands that run in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// `tree` holds a/one, a/two, three and the empty folder b.
    pub(crate) fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.at("tree/a")).unwrap();
        fs::create_dir(place.at("tree/b")).unwrap();
        for (name, text) in [("a/one", "Call me"), ("a/two", "Ishmael"), ("three", "")] {
            fs::write(place.at("tree").join(name), text).unwrap();
        }
        place.run("keygen -o key.json").expect(0);
        place
    }

    /// `sealed` is the tree with an index.
    pub(crate) fn sealed() -> Place {
        let place = Place::new();
        place.run("encrypt tree sealed --key key.json --index --suffix .enc").expect(0);
        place
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn run(&self, arguments: &str) -> Ended {
        let output = Command::new(env!("CARGO_BIN_EXE_cipherloom"))
            .args(arguments.split(' '))
            .current_dir(self.folder.path())
            .env_remove("CIPHERLOOM_KEY")
            .stdin(Stdio::null())
            .output();
        let Output { status, stdout, stderr } = output.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    pub(crate) fn verify(&self, more: &str) -> Ended {
        self.run(&format!("verify sealed --key key.json{more}"))
    }

    pub(crate) fn generation(&self) -> Vec<u8> {
        fs::read(self.at("sealed/.cipherloom/index/root")).unwrap()
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        self
    }

    /// Fails unless one line of the messages has all of these.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ended {
        let found = self.err.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "{words:?} in {}", self.err);
        self
    }
}
