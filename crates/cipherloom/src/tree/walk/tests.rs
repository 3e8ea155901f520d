use super::*;

#[test]
fn lists_files_folders_and_counts_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/deep"), b"12345").unwrap();
    fs::write(root.join("top"), b"1").unwrap();
    // What a killed run leaves behind is no content; a name that only begins like it is.
    fs::write(root.join(".cipherloom-0123456789abcdef"), b"half of it").unwrap();
    fs::write(root.join(".cipherloom-notes"), b"").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("top", root.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    }
    let tree = Tree::list(root, &Selection::default()).unwrap();
    assert_eq!(tree.total_bytes(), 6);
    let mut paths: Vec<_> = tree.entries.iter().map(|entry| tree.relative_path(entry)).collect();
    paths.sort();
    assert_eq!(paths, [".cipherloom-notes", "a/b/deep", "top"].map(PathBuf::from));
    assert_eq!(tree.passed_over.leftovers, 1);
    #[cfg(unix)]
    assert_eq!((tree.links.len(), tree.passed_over.special), (1, 1));
    for (index, directory) in tree.directories.iter().enumerate().skip(1) {
        let parent = directory.path.parent().unwrap();
        assert!(tree.directories[..index].iter().any(|earlier| earlier.path == parent));
    }
}

/// As on a file system that does not tell kinds with names, where looking for one comes too late for a name.
#[test]
fn a_name_that_vanishes_is_told_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("here");
    fs::write(&path, b"12").unwrap();
    let metadata = fs::metadata(&path).unwrap();
    let everything = Selection::default();
    let some = Selection::new(&["*e*".to_owned()], &[]).unwrap();
    for selection in [&everything, &some] {
        let mut tree = empty_tree(folder.path().to_owned(), attributes(&metadata), false);
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let mut add = |name: &str, kind, looked: io::Result<Look>| {
            let found = find(selection, Path::new("a"), name.into(), kind, || looked);
            tree.take(0, found);
        };
        let here = || Ok(Look::of(&metadata, Process::this()));
        add("early", Err(gone()), here());
        add("late", Ok(Kind::Regular), Err(gone()));
        add("here", Ok(Kind::Regular), here());
        let untold: Vec<_> = tree.unlisted.iter().map(|unlisted| unlisted.path.clone()).collect();
        assert_eq!(untold, ["a/early", "a/late"].map(|name| folder.path().join(name)));
        assert_eq!((tree.entries.len(), tree.total_bytes()), (1, 2));
    }
}

/// More folders and items than one thread lists, in the order in which one would.
#[test]
fn several_threads_list_what_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for number in 0..2 * MANY_PIECES * ITEMS_TAKEN {
        fs::write(root.join(format!("top-{number}")), b"12").unwrap();
    }
    for number in 0..2 * MANY_FOLDERS {
        fs::create_dir_all(root.join(format!("{number}/deep"))).unwrap();
        fs::write(root.join(format!("{number}/deep/file")), b"123").unwrap();
    }
    for number in 0..ITEMS_TAKEN + 1 {
        fs::write(root.join(format!("7/{number}")), b"1").unwrap();
    }
    let selection = Selection::default();
    let list = |threads: usize| {
        let mut tree = empty_tree(root.to_owned(), attributes(&fs::metadata(root).unwrap()), false);
        let listing = Listing { threads: threads.into(), ..Listing::new(&selection, &Unobserved) };
        listing.go_on(&mut tree, 0).unwrap();
        let folders: Vec<_> = tree.directories.iter().map(|folder| folder.path.clone()).collect();
        let files: Vec<_> =
            tree.entries.iter().map(|entry| (tree.relative_path(entry), entry.size())).collect();
        (folders, files)
    };
    let one = list(1);
    assert_eq!(one.0.len(), 1 + 4 * MANY_FOLDERS);
    assert_eq!(one.1.len(), 2 * MANY_PIECES * ITEMS_TAKEN + 2 * MANY_FOLDERS + ITEMS_TAKEN + 1);
    assert!(list(4) == one, "the order is another");
}

/// However many folders there are side by side, what is below one is not far from it.
#[test]
fn what_is_below_a_folder_comes_before_folders_far_from_it() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3 * FOLDERS {
        fs::create_dir_all(folder.path().join(format!("{number}/below/deep"))).unwrap();
        for file in ["one", "below/two", "below/deep/three", "below/deep/four"] {
            fs::write(folder.path().join(format!("{number}/{file}")), b"").unwrap();
        }
    }
    let tree = Tree::list(folder.path(), &Selection::default()).unwrap();
    let position =
        |path: PathBuf| tree.directories.iter().position(|folder| folder.path == path).expect("listed");
    let tops = &tree.directories[1..=3 * FOLDERS];
    assert!(tops.iter().all(|top| top.path.components().count() == 1), "side by side");
    let [first, last] = [&tops[0].path, &tops[3 * FOLDERS - 1].path];
    assert!(position(first.join("below/deep")) < position(last.join("below")));
    assert_eq!(tree.directories.len(), 1 + 9 * FOLDERS);
    let by_folder = tree.entries.by_folder();
    for directory in 0..tree.directories.len() as u32 {
        let those = (0..).zip(tree.entries.iter()).filter(|(_, entry)| entry.directory() == directory);
        let those: Vec<u32> = those.map(|(index, _)| index).collect();
        assert_eq!(by_folder.of(directory).collect::<Vec<_>>(), those);
    }
}

#[test]
fn several_names_are_a_tree_without_what_lies_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    for name in ["a/b/deep", "top", "beside"] {
        fs::write(root.join(name), b"1").unwrap();
    }
    let names = ["a", "top", "missing"].map(OsStr::new);
    let tree = Tree::list_several(root, names, &Selection::default()).unwrap();
    let mut paths: Vec<_> = tree.entries.iter().map(|entry| tree.relative_path(entry)).collect();
    paths.sort();
    assert_eq!(paths, [PathBuf::from("a/b/deep"), PathBuf::from("top")]);
    let folders: Vec<_> = tree.directories.iter().map(|directory| directory.path.clone()).collect();
    assert_eq!(folders, ["", "a", "a/b"].map(PathBuf::from));
    assert_eq!((tree.unlisted.len(), tree.is_several), (1, true));
}

#[test]
fn a_single_file_is_a_tree_of_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("one"), b"abc").unwrap();
    let tree = Tree::list(&folder.path().join("one"), &Selection::default()).unwrap();
    assert!(tree.is_single_file);
    assert_eq!(tree.relative_path(tree.entries.get(0)), PathBuf::from("one"));
}

#[test]
fn a_single_file_is_selected_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one");
    fs::write(&file, b"abc").unwrap();
    let list = |selection: Selection| {
        let tree = Tree::list(&file, &selection).unwrap();
        (tree.entries.len(), tree.passed_over.excluded)
    };
    assert_eq!(list(Selection::new(&[], &["o*".into()]).unwrap()), (0, 1));
    assert_eq!(list(Selection::new(&["o*".into()], &[]).unwrap()), (1, 0));
    let shards =
        ["1/2", "2/2"].map(|shard| list(Selection::default().in_shard(Some(shard.parse().unwrap()))).0);
    assert_eq!(shards.iter().sum::<usize>(), 1);
}
