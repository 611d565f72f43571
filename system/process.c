/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process towards its host: background, pid file, rights. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qapi/keyval.h"
#include "util/offload.h"
#include "util/report.h"

static int daemon_pipe = -1; /* to the waiting parent */
static char *pidfile;
static pid_t pidfile_owner;

static bool user_given;
static char *user_name; /* NULL: uid:gid */
static uid_t user_uid;
static gid_t user_gid;

void process_raise_limits(void)
{
    struct rlimit lim;

    if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
        lim.rlim_cur = lim.rlim_max;
        setrlimit(RLIMIT_NOFILE, &lim); /* whoever runs out of them says so */
    }
}

void process_set_name(const char *name)
{
    g_autofree char *shortened = g_strndup(name, 15);

    prctl(PR_SET_NAME, shortened);
}

bool process_exit_with_parent(Error **errp)
{
    pid_t parent = getppid();

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) {
        error_set_errno(errp, errno, "exit-with-parent is not possible");
        return false;
    }
    if (getppid() != parent) {
        /* It went before it could be watched. */
        exit(1);
    }
    return true;
}

bool process_lock_memory(bool on_fault, Error **errp)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE | (on_fault ? MCL_ONFAULT : 0)) < 0) {
        error_set_errno(errp, errno, "mlockall failed");
        return false;
    }
    return true;
}

/* ---- user ---- */

static bool parse_ids(const char *text)
{
    const char *colon = strchr(text, ':');
    g_autofree char *uid_text = NULL;
    uint64_t uid, gid;

    if (!colon || !g_ascii_isdigit(text[0]) || !g_ascii_isdigit(colon[1])) {
        return false;
    }
    uid_text = g_strndup(text, colon - text);
    /* -1 means "unchanged" to the kernel. */
    if (!parse_uint64(uid_text, &uid) || !parse_uint64(colon + 1, &gid) || uid >= UINT32_MAX ||
        gid >= UINT32_MAX) {
        return false;
    }
    user_uid = uid;
    user_gid = gid;
    return true;
}

bool process_user_parse(const char *text, Error **errp)
{
    struct passwd *pw = getpwnam(text);

    g_clear_pointer(&user_name, g_free);
    if (pw) {
        user_name = g_strdup(text);
        user_uid = pw->pw_uid;
        user_gid = pw->pw_gid;
    } else if (!parse_ids(text)) {
        error_set(errp, "User \"%s\" doesn't exist (and is not <uid>:<gid>)", text);
        return false;
    }
    user_given = true;
    return true;
}

static bool change_user(Error **errp)
{
    if (!user_given) {
        return true;
    }
    if (setgid(user_gid) < 0) {
        error_set(errp, "Failed to setgid(%u)", (unsigned)user_gid);
        return false;
    }
    if (user_name ? initgroups(user_name, user_gid) < 0 : setgroups(1, &user_gid) < 0) {
        error_set_errno(errp, errno, "Failed to set the groups of the new user");
        return false;
    }
    if (setuid(user_uid) < 0) {
        error_set(errp, "Failed to setuid(%u)", (unsigned)user_uid);
        return false;
    }
    if (user_uid != 0 && setuid(0) == 0) {
        error_set(errp, "Dropping privileges failed");
        return false;
    }
    return true;
}

/* ---- background ---- */

static void wait_for_child(int fd)
{
    uint8_t status;
    ssize_t n;

    do {
        n = read(fd, &status, 1);
    } while (n < 0 && errno == EINTR);
    /* The child has printed what was to be said. */
    _exit(n == 1 && status == 0 ? 0 : 1);
}

void process_daemonize(void)
{
    int fds[2];
    pid_t pid;

    fflush(NULL);
    if (pipe2(fds, O_CLOEXEC) < 0) {
        report_error("cannot daemonize: %s", strerror(errno));
        exit(1);
    }
    pid = fork();
    if (pid < 0) {
        report_error("cannot daemonize: %s", strerror(errno));
        exit(1);
    }
    if (pid > 0) {
        close(fds[1]);
        wait_for_child(fds[0]);
    }
    close(fds[0]);
    daemon_pipe = fds[1];
    setsid();
    /* Once more, so that it leads no session and never gets a terminal. */
    pid = fork();
    if (pid != 0) {
        _exit(pid < 0 ? 1 : 0);
    }
    umask(027);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
}

bool process_ready(const char *chroot_dir, const SandboxConfig *sandbox, Error **errp)
{
    int null_fd = -1;

    if (daemon_pipe >= 0) {
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null_fd < 0 || chdir("/") < 0) {
            error_set_errno(errp, errno, "cannot daemonize");
            return false;
        }
    }
    if (chroot_dir && (chroot(chroot_dir) < 0 || chdir("/") < 0)) {
        error_set(errp, "chroot failed");
        return false;
    }
    if (!change_user(errp) || !sandbox_install(sandbox, true, errp)) {
        return false;
    }
    if (daemon_pipe >= 0) {
        uint8_t status = 0;
        ssize_t n;

        fflush(NULL);
        dup2(null_fd, STDIN_FILENO);
        dup2(null_fd, STDOUT_FILENO);
        dup2(null_fd, STDERR_FILENO);
        close(null_fd);
        do {
            n = write(daemon_pipe, &status, 1);
        } while (n < 0 && errno == EINTR);
        close(daemon_pipe);
        daemon_pipe = -1;
    }
    return true;
}

/* ---- pid file ---- */

static int open_pidfile(const char *path, Error **errp)
{
    for (;;) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        struct stat of_fd, of_path;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

        if (fd < 0) {
            error_set_errno(errp, errno, "Could not create '%s'", path);
            return -1;
        }
        if (fcntl(fd, F_SETLK, &lock) < 0) {
            error_set_errno(errp, errno, "Cannot lock pid file");
            close(fd);
            return -1;
        }
        /* Its owner may have ended and removed it between the two calls. */
        if (fstat(fd, &of_fd) == 0 && stat(path, &of_path) == 0 &&
            of_fd.st_ino == of_path.st_ino && of_fd.st_dev == of_path.st_dev) {
            return fd;
        }
        close(fd);
    }
}

bool process_pidfile(const char *path, Error **errp)
{
    g_autofree char *text = g_strdup_printf("%ld\n", (long)getpid());
    Error *err = NULL;
    int fd = open_pidfile(path, &err);

    if (fd >= 0 && (ftruncate(fd, 0) < 0 || write(fd, text, strlen(text)) < 0)) {
        error_set_errno(&err, errno, "Failed to write pid file");
        unlink(path);
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        error_prepend(&err, "cannot create PID file: ");
        error_propagate(errp, err);
        return false;
    }
    /* Absolute, as a daemon changes its directory. The descriptor stays open for the lock. */
    pidfile = realpath(path, NULL);
    pidfile_owner = getpid();
    return true;
}

void process_exit_now(int status)
{
    if (pidfile && pidfile_owner == getpid()) {
        unlink(pidfile);
    }
    stall_exit(status);
}

void process_cleanup(void)
{
    if (pidfile && pidfile_owner == getpid()) {
        unlink(pidfile);
    }
    g_clear_pointer(&pidfile, free);
    g_clear_pointer(&user_name, g_free);
}
