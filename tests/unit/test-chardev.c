/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Character devices: connections, order of bytes, slow peers, moving to another thread,
 * descriptors. */
#include "chardev/char.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "chardev/fdset.h"
#include "util/biglock.h"
#include "util/iothread.h"

typedef struct Front {
    Chardev *c;
    pthread_mutex_t lock; /* handlers may run in another thread */
    GString *got;
    int opened, closed;
    size_t room;
    AioContext *expect; /* where handlers have to run */
} Front;

static size_t front_can_receive(void *opaque)
{
    Front *f = opaque;
    size_t room;

    pthread_mutex_lock(&f->lock);
    room = f->room;
    pthread_mutex_unlock(&f->lock);
    return room;
}

static void front_receive(void *opaque, const uint8_t *buf, size_t len)
{
    Front *f = opaque;

    g_assert(aio_in_context(f->expect));
    pthread_mutex_lock(&f->lock);
    g_assert(len <= f->room);
    g_string_append_len(f->got, (const char *)buf, len);
    pthread_mutex_unlock(&f->lock);
    aio_kick(aio_context_main());
}

static void front_event(void *opaque, ChardevEvent event)
{
    Front *f = opaque;

    g_assert(aio_in_context(f->expect));
    pthread_mutex_lock(&f->lock);
    f->opened += event == CHARDEV_OPENED;
    f->closed += event == CHARDEV_CLOSED;
    pthread_mutex_unlock(&f->lock);
    aio_kick(aio_context_main());
}

static const ChardevHandlers handlers = { front_can_receive, front_receive, front_event };

static void front_init(Front *f)
{
    memset(f, 0, sizeof(*f));
    pthread_mutex_init(&f->lock, NULL);
    f->got = g_string_new(NULL);
    f->room = 4096;
    f->expect = aio_context_main();
}

static int front_count(Front *f, int *counter)
{
    int n;

    pthread_mutex_lock(&f->lock);
    n = *counter;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static size_t front_got(Front *f)
{
    size_t n;

    pthread_mutex_lock(&f->lock);
    n = f->got->len;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static Chardev *make(const char *text)
{
    g_autoptr(Opts) opts = opts_parse(text, "backend", NULL, &error_abort);

    return chardev_new_opts(opts, &error_abort);
}

static void front_free(Front *f)
{
    chardev_release(f->c);
    chardev_remove(f->c, &error_abort);
    g_string_free(f->got, TRUE);
    pthread_mutex_destroy(&f->lock);
}

static int peer_connect(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
    return fd;
}

static void test_listen_again(void)
{
    Front f;

    front_init(&f);
    f.c = make("socket,id=c,path=s,server=on,wait=off");
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    for (int i = 1; i <= 20; i++) {
        int fd = peer_connect("s");
        g_autofree char *name = NULL;
        char buf[8];

        AIO_WAIT_WHILE(front_count(&f, &f.opened) < i);
        name = chardev_filename(f.c);
        g_assert_cmpstr(name, ==, "unix:s,server=on");
        g_assert_cmpint(write(fd, "ping", 4), ==, 4);
        AIO_WAIT_WHILE(front_got(&f) < 4u * i);
        g_assert_true(chardev_write(f.c, "pong", 4));
        g_assert_cmpint(read(fd, buf, sizeof(buf)), ==, 4);
        close(fd);
        AIO_WAIT_WHILE(front_count(&f, &f.closed) < i);
        g_assert_false(chardev_write(f.c, "lost", 4));
    }
    front_free(&f);
    g_assert_cmpint(access("s", F_OK), ==, -1);
}

static void test_second_claim(void)
{
    Error *err = NULL;
    Front f;

    front_init(&f);
    f.c = make("null,id=c");
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    g_assert_cmpint(f.opened, ==, 1);
    g_assert_false(chardev_claim(f.c, &handlers, &f, &err));
    g_assert_cmpstr(error_message(err), ==, "chardev 'c' is already in use");
    error_free(g_steal_pointer(&err));
    g_assert_false(chardev_remove(f.c, &err));
    g_assert_cmpstr(error_message(err), ==, "Chardev 'c' is busy");
    error_free(err);
    front_free(&f);
}

/* A peer that does not read gets everything later, in order. */
static void test_slow_peer(void)
{
    enum { CHUNK = 1000, CHUNKS = 4000 };
    g_autofree char *chunk = g_malloc(CHUNK);
    size_t total = 0;
    Front f;
    int fd;

    front_init(&f);
    f.c = make("socket,id=c,path=s,server=on,wait=off");
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    fd = peer_connect("s");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    AIO_WAIT_WHILE(front_count(&f, &f.opened) < 1);
    for (int i = 0; i < CHUNKS; i++) {
        memset(chunk, 'a' + i % 26, CHUNK);
        g_assert_true(chardev_write(f.c, chunk, CHUNK));
    }
    while (total < (size_t)CHUNK * CHUNKS) {
        char buf[8192];
        ssize_t n = read(fd, buf, sizeof(buf));

        for (ssize_t i = 0; i < n; i++) {
            g_assert_cmpint(buf[i], ==, 'a' + (total + i) / CHUNK % 26);
        }
        if (n > 0) {
            total += n;
        } else {
            aio_poll(aio_context_main(), true);
        }
    }
    close(fd);
    front_free(&f);
}

/* can_receive() holds the peer back. */
static void test_back_pressure(void)
{
    Front f;
    int fd;

    front_init(&f);
    f.room = 0;
    f.c = make("socket,id=c,path=s,server=on,wait=off");
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    fd = peer_connect("s");
    AIO_WAIT_WHILE(front_count(&f, &f.opened) < 1);
    g_assert_cmpint(write(fd, "0123456789", 10), ==, 10);
    for (int i = 0; i < 10; i++) {
        aio_poll(aio_context_main(), false);
    }
    g_assert_cmpint(f.got->len, ==, 0);
    f.room = 3;
    chardev_accept_input(f.c);
    AIO_WAIT_WHILE(front_got(&f) < 10);
    g_assert_cmpstr(f.got->str, ==, "0123456789");
    close(fd);
    front_free(&f);
}

typedef struct Writer {
    Front *f;
    char mark;
} Writer;

static void *write_lines(void *opaque)
{
    Writer *w = opaque;
    char line[100];

    memset(line, w->mark, sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 500; i++) {
        g_assert_true(chardev_write(w->f->c, line, sizeof(line)));
    }
    return NULL;
}

/* In an IOThread, with several threads writing: whole calls stay together. */
static void test_other_context(void)
{
    IOThreadCore *t = iothread_core_start("chr", NULL, &error_abort);
    Writer writers[3];
    pthread_t threads[3];
    size_t have = 0;
    Front f;
    char *all = g_malloc(3 * 500 * 100);
    int fd;

    front_init(&f);
    f.expect = iothread_core_context(t);
    f.c = make("socket,id=c,path=s,server=on,wait=off");
    chardev_set_context(f.c, f.expect);
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    fd = peer_connect("s");
    AIO_WAIT_WHILE(front_count(&f, &f.opened) < 1);
    for (int i = 0; i < 3; i++) {
        writers[i] = (Writer){ &f, '1' + i };
        pthread_create(&threads[i], NULL, write_lines, &writers[i]);
    }
    while (have < 3 * 500 * 100) {
        ssize_t n = read(fd, all + have, 3 * 500 * 100 - have);

        g_assert_cmpint(n, >, 0);
        have += n;
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < have; i += 100) {
        for (size_t j = 1; j < 99; j++) {
            g_assert_cmpint(all[i + j], ==, all[i]);
        }
        g_assert_cmpint(all[i + 99], ==, '\n');
    }
    close(fd);
    AIO_WAIT_WHILE(front_count(&f, &f.closed) < 1);
    /* Back again, to be removed. */
    chardev_release(f.c);
    chardev_set_context(f.c, aio_context_main());
    front_free(&f);
    iothread_core_stop(t);
    g_free(all);
}

static void test_reconnect(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "r" };
    Front f;

    front_init(&f);
    f.c = make("socket,id=c,path=r,reconnect-ms=10");
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    for (int i = 1; i <= 3; i++) {
        int lfd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

        unlink("r");
        g_assert_cmpint(bind(lfd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
        g_assert_cmpint(listen(lfd, 1), ==, 0);
        AIO_WAIT_WHILE(front_count(&f, &f.opened) < i);
        fd = accept(lfd, NULL, NULL);
        close(lfd);
        close(fd);
        AIO_WAIT_WHILE(front_count(&f, &f.closed) < i);
    }
    unlink("r");
    front_free(&f);
}

static void send_fds(int sock, const int *fds, unsigned n)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(4 * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { (void *)"x", 1 };
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(n * sizeof(int)),
    };
    struct cmsghdr *m = CMSG_FIRSTHDR(&msg);

    m->cmsg_level = SOL_SOCKET;
    m->cmsg_type = SCM_RIGHTS;
    m->cmsg_len = CMSG_LEN(n * sizeof(int));
    memcpy(CMSG_DATA(m), fds, n * sizeof(int));
    g_assert_cmpint(sendmsg(sock, &msg, 0), ==, 1);
}

static unsigned open_fds(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

static void test_passed_fds(void)
{
    int files[3], fd, taken;
    struct stat a, b;
    unsigned before;
    Front f;

    front_init(&f);
    f.c = make("socket,id=c,path=s,server=on,wait=off");
    g_assert_true(chardev_claim(f.c, &handlers, &f, &error_abort));
    fd = peer_connect("s");
    AIO_WAIT_WHILE(front_count(&f, &f.opened) < 1);
    for (int i = 0; i < 3; i++) {
        g_autofree char *name = g_strdup_printf("file%d", i);

        files[i] = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        unlink(name);
    }
    before = open_fds();
    send_fds(fd, files, 3);
    AIO_WAIT_WHILE(front_got(&f) < 1);
    taken = chardev_take_fd(f.c);
    g_assert_cmpint(taken, >=, 0);
    g_assert_cmpint(fstat(files[0], &a), ==, 0);
    g_assert_cmpint(fstat(taken, &b), ==, 0);
    g_assert_cmpint(a.st_ino, ==, b.st_ino);
    g_assert_cmpint(fcntl(taken, F_GETFD), ==, FD_CLOEXEC);
    g_assert_cmpint(chardev_take_fd(f.c), ==, -1);
    close(taken);
    g_assert_cmpint(open_fds(), ==, before);
    /* Those that nobody takes are closed when the next ones come, and with the connection. */
    send_fds(fd, files, 2);
    send_fds(fd, files, 1);
    AIO_WAIT_WHILE(front_got(&f) < 3);
    g_assert_cmpint(open_fds(), ==, before + 1);
    close(fd);
    AIO_WAIT_WHILE(front_count(&f, &f.closed) < 1);
    g_assert_cmpint(open_fds(), ==, before - 2); /* both ends of the connection, too */
    for (int i = 0; i < 3; i++) {
        close(files[i]);
    }
    front_free(&f);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "null", "chardev: no id specified" },
        { "id=c", "chardev: \"c\" missing backend" },
        { "nosuch,id=c", "'nosuch' is not a valid char driver name" },
        { "null,id=c,foo=1", "Invalid parameter 'foo'" },
        { "file,id=c", "chardev: file: no filename given" },
        { "file,id=c,path=/nosuch/x", "Could not open '/nosuch/x': No such file or directory" },
        { "socket,id=c,path=/nosuch/x",
          "Failed to connect to '/nosuch/x': No such file or directory" },
        { "socket,id=c,path=/nosuch/x,server=on,wait=off",
          "Failed to bind socket to /nosuch/x: No such file or directory" },
        { "socket,id=c,path=a,host=b",
          "None or one of 'path', 'fd' or 'host' option required." },
        { "socket,id=c,host=b", "chardev: socket: no port given" },
        { "socket,id=c,fd=x", "Unable to parse FD number x" },
        { "socket,id=c,fd=0", "File descriptor '0' is not a socket" },
        { "socket,id=c,path=a,wait=off",
          "'wait' option is incompatible with socket in client connect mode" },
        { "socket,id=c,path=a,server=on,reconnect-ms=1",
          "'reconnect-ms' option is incompatible with socket in server listen mode" },
        { "socket,id=c,path=a,telnet=on", "chardev: socket: 'telnet' is not supported" },
        { "socket,id=c,path=a,server=on,foo=1", "Invalid parameter 'foo'" },
    };
    unsigned before = open_fds();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Opts) opts = opts_parse(cases[i].text, "backend", NULL, &error_abort);
        Error *err = NULL;

        g_assert_null(chardev_new_opts(opts, &err));
        g_assert_cmpstr(error_message(err), ==, cases[i].message);
        error_free(err);
        g_assert_null(chardev_find("c"));
    }
    g_assert_cmpint(open_fds(), ==, before);
}

static void test_legacy(void)
{
    g_autoptr(Opts) u = chardev_parse_legacy("a", "unix:/x/y,server=on,wait=off");
    g_autoptr(Opts) t = chardev_parse_legacy("b", "tcp:[::1]:99,server=on");
    g_autoptr(Opts) p = chardev_parse_legacy("c", "pipe:/q");

    g_assert_cmpstr(u->id, ==, "a");
    g_assert_cmpstr(opts_get(u, "backend"), ==, "socket");
    g_assert_cmpstr(opts_get(u, "path"), ==, "/x/y");
    g_assert_cmpstr(opts_get(u, "wait"), ==, "off");
    g_assert_cmpstr(opts_get(t, "host"), ==, "::1");
    g_assert_cmpstr(opts_get(t, "port"), ==, "99");
    g_assert_cmpstr(opts_get(t, "server"), ==, "on");
    g_assert_cmpstr(opts_get(p, "backend"), ==, "pipe");
    g_assert_null(chardev_parse_legacy("d", "tcp:localhost"));
}

static void test_file(void)
{
    g_autofree char *text = NULL;
    Chardev *c = make("file,id=c,path=out");

    g_assert_true(chardev_write(c, "one", 3));
    g_assert_true(chardev_remove(c, &error_abort));
    c = make("file,id=c,path=out,append=on,logfile=log");
    g_assert_true(chardev_write(c, "two", 3));
    g_assert_true(chardev_remove(c, &error_abort));
    g_assert_true(g_file_get_contents("out", &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "onetwo");
    g_clear_pointer(&text, g_free);
    g_assert_true(g_file_get_contents("log", &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "two");
    g_unlink("out");
    g_unlink("log");
}

static int quits;

static void on_quit(void)
{
    quits++;
}

static void test_shared(void)
{
    Front a, b;
    int fd;

    front_init(&a);
    front_init(&b);
    chardev_quit_hook = on_quit;
    a.c = make("socket,id=c,path=s,server=on,wait=off,mux=on");
    g_assert_true(chardev_is_mux(a.c));
    g_assert_true(chardev_claim(a.c, &handlers, &a, &error_abort));
    b.c = chardev_find("c");
    g_assert_true(b.c != a.c);
    g_assert_true(chardev_claim(b.c, &handlers, &b, &error_abort));
    fd = peer_connect("s");
    while (!chardev_is_open(a.c)) {
        aio_poll(aio_context_main(), true);
    }
    g_assert_cmpint(a.opened + b.opened, ==, 0);
    chardev_mux_start();
    /* The newest has the focus; the other one hears of the peer when it gets it. */
    g_assert_cmpint(a.opened, ==, 0);
    g_assert_cmpint(b.opened, ==, 1);
    g_assert_cmpint(write(fd, "one\001c", 5), ==, 5);
    AIO_WAIT_WHILE(a.opened == 0);
    g_assert_cmpstr(b.got->str, ==, "one");
    /* Nobody takes it, and still the keys of the multiplexer work. */
    a.room = 0;
    g_assert_cmpint(write(fd, "two\001cthree\001c\001\001\001x", 16), ==, 16);
    AIO_WAIT_WHILE(quits == 0);
    g_assert_cmpstr(b.got->str, ==, "onethree");
    g_assert_cmpint(a.got->len, ==, 0);
    a.room = 2;
    chardev_accept_input(a.c);
    AIO_WAIT_WHILE(front_got(&a) < 4);
    g_assert_cmpstr(a.got->str, ==, "two\001");
    g_assert_true(chardev_write(a.c, "x", 1));
    g_assert_true(chardev_write(b.c, "y", 1));
    close(fd);
    AIO_WAIT_WHILE(a.closed == 0 || b.closed == 0);
    chardev_release(b.c);
    g_string_free(b.got, TRUE);
    front_free(&a);
    g_assert_null(chardev_find("c"));
    g_assert_null(chardev_find("c-base"));
}

static void test_fdset(void)
{
    int w = open("f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), fd;
    Chardev *c;

    g_assert_cmpint(fdset_add(7, w, "note"), ==, 7);
    g_assert_cmpint(fdset_open("/dev/fdset/8", O_WRONLY, 0), ==, -1);
    g_assert_cmpint(fdset_open("/dev/fdset/7", O_RDONLY, 0), ==, -1);
    fd = fdset_open("/dev/fdset/7", O_WRONLY, 0);
    g_assert_cmpint(fd, >=, 0);
    fdset_forget(fd);
    close(fd);
    c = make("file,id=c,path=/dev/fdset/7");
    g_assert_true(chardev_write(c, "x", 1));
    g_assert_true(chardev_remove(c, &error_abort));
    fdset_cleanup();
    g_unlink("f");
}

int main(int argc, char **argv)
{
    g_autofree char *dir = NULL;
    int rc;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("chardev-XXXXXX", NULL);
    g_assert_cmpint(chdir(dir), ==, 0);
    g_assert_true(aio_main_init(&error_abort));
    big_lock();
    g_test_add_func("/chardev/listen-again", test_listen_again);
    g_test_add_func("/chardev/second-claim", test_second_claim);
    g_test_add_func("/chardev/slow-peer", test_slow_peer);
    g_test_add_func("/chardev/back-pressure", test_back_pressure);
    g_test_add_func("/chardev/other-context", test_other_context);
    g_test_add_func("/chardev/reconnect", test_reconnect);
    g_test_add_func("/chardev/passed-fds", test_passed_fds);
    g_test_add_func("/chardev/refused", test_refused);
    g_test_add_func("/chardev/legacy-form", test_legacy);
    g_test_add_func("/chardev/file", test_file);
    g_test_add_func("/chardev/fdset", test_fdset);
    g_test_add_func("/chardev/shared", test_shared);
    rc = g_test_run();
    g_rmdir(dir);
    return rc;
}
