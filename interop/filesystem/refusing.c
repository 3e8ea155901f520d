/* A file system (libfuse 3) that passes everything on to a folder, but for what it is told to refuse:
 *
 *   refusing FOLDER MOUNT flush|noreplace|link|chmod|modes|utimens|remove[,...]
 *
 * flush      a file of more than 4096 bytes does not fit: told at close, as NFS and sshfs tell of a full server
 * noreplace  renames have no flags (vfat and exfat of FUSE)
 * link       there are no hard links
 * chmod      permissions are not to be set
 * modes      everybody has all permissions on everything
 * utimens    times are not to be set
 * remove     what holds bytes cannot be removed
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *folder, *refused;

struct place { char path[4096]; };

static struct place at(const char *path) {
    struct place place;
    snprintf(place.path, sizeof place.path, "%s%s", folder, path);
    return place;
}

static int refuses(const char *what) { return strstr(refused, what) != NULL; }
static int done(int result) { return result == -1 ? -errno : 0; }

static void *begin(struct fuse_conn_info *connection, struct fuse_config *config) {
    (void)connection;
    config->use_ino = 1;
    config->hard_remove = 1;
    return NULL;
}

static int get_attributes(const char *path, struct stat *found, struct fuse_file_info *file) {
    int result = file ? fstat(file->fh, found) : lstat(at(path).path, found);
    if (refuses("modes")) found->st_mode |= 0777;
    return done(result);
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                enum fuse_readdir_flags flags) {
    (void)offset, (void)file, (void)flags;
    DIR *names = opendir(at(path).path);
    if (!names) return -errno;
    for (struct dirent *item; (item = readdir(names));) fill(buffer, item->d_name, NULL, 0, 0);
    return done(closedir(names));
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *file) {
    int opened = open(at(path).path, file->flags, mode);
    file->fh = opened;
    return done(opened == -1 ? -1 : 0);
}

static int open_file(const char *path, struct fuse_file_info *file) { return create_file(path, 0, file); }

static int read_file(const char *path, char *bytes, size_t len, off_t offset, struct fuse_file_info *file) {
    (void)path;
    ssize_t count = pread(file->fh, bytes, len, offset);
    return count == -1 ? -errno : (int)count;
}

static int write_file(const char *path, const char *bytes, size_t len, off_t offset, struct fuse_file_info *file) {
    (void)path;
    ssize_t count = pwrite(file->fh, bytes, len, offset);
    return count == -1 ? -errno : (int)count;
}

static int flush_file(const char *path, struct fuse_file_info *file) {
    (void)path;
    struct stat found;
    return refuses("flush") && fstat(file->fh, &found) == 0 && found.st_size > 4096 ? -EFBIG : 0;
}

static int close_file(const char *path, struct fuse_file_info *file) {
    (void)path;
    return done(close(file->fh));
}

static int truncate_file(const char *path, off_t len, struct fuse_file_info *file) {
    return done(file ? ftruncate(file->fh, len) : truncate(at(path).path, len));
}

static int rename_file(const char *from, const char *to, unsigned flags) {
    if (flags && refuses("noreplace")) return -EINVAL;
    return done(renameat2(AT_FDCWD, at(from).path, AT_FDCWD, at(to).path, flags));
}

static int link_file(const char *from, const char *to) {
    return refuses("link") ? -EPERM : done(link(at(from).path, at(to).path));
}

static int unlink_file(const char *path) {
    struct stat found;
    if (refuses("remove") && lstat(at(path).path, &found) == 0 && found.st_size > 0) return -EACCES;
    return done(unlink(at(path).path));
}

static int remove_folder(const char *path) { return done(rmdir(at(path).path)); }
static int make_folder(const char *path, mode_t mode) { return done(mkdir(at(path).path, mode)); }

static int set_mode(const char *path, mode_t mode, struct fuse_file_info *file) {
    (void)file;
    return refuses("chmod") ? -EPERM : done(chmod(at(path).path, mode));
}

static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *file) {
    (void)file;
    return refuses("utimens") ? -EPERM : done(utimensat(AT_FDCWD, at(path).path, times, AT_SYMLINK_NOFOLLOW));
}

static int get_space(const char *path, struct statvfs *found) { return done(statvfs(at(path).path, found)); }

static const struct fuse_operations operations = {
    .init = begin, .getattr = get_attributes, .readdir = list, .create = create_file, .open = open_file,
    .read = read_file, .write = write_file, .flush = flush_file, .release = close_file, .truncate = truncate_file,
    .rename = rename_file, .link = link_file, .unlink = unlink_file, .rmdir = remove_folder, .mkdir = make_folder,
    .chmod = set_mode, .utimens = set_times, .statfs = get_space,
};

int main(int count, char **arguments) {
    if (count < 4) return 2;
    folder = arguments[1], refused = arguments[3];
    umask(0);
    /* In the foreground, one request after the other. */
    char *fuse[] = {arguments[0], arguments[2], "-f", "-s", NULL};
    return fuse_main(4, fuse, &operations, NULL);
}
