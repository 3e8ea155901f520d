//! How many files the process may hold open: as many as the system lets it, since lanes hold two or three for each entry.

/// Raises the soft limit to the hard one. A system that refuses is left as it is: the plan goes by what there is.
pub fn allow_many() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        }
    }
}
