/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -drive: every option, what is guessed, and how mistakes are worded. */
#include <fcntl.h>

#include "block-fixture.h"

#define RAW "if=none,id=x,file=disk,format=raw"

static const struct {
    const char *options;
    const char *error; /* NULL: accepted */
} cases[] = {
    { RAW, NULL },
    { "if=none,id=x", NULL },
    { "if=none,id=x,file=", NULL },
    { "if=none,id=x,media=cdrom", NULL },
    { "if=none,id=x,file=nosuch,format=raw", "Could not open 'nosuch': No such file or directory" },
    { "if=none,id=x,file=nosuch", "Could not open 'nosuch': No such file or directory" },
    { "if=none,id=x,file=disk,format=nosuch", "Unknown driver 'nosuch'" },
    { "if=foo,file=disk", "unsupported bus type 'foo'" },
    { RAW ",aio=native",
      "aio=native was specified, but it requires cache.direct=on, which was not specified." },
    { RAW ",aio=foo", "invalid aio option" },
    { RAW ",aio=threads,cache=writeback", NULL },
    { RAW ",cache=foo", "invalid cache option" },
    { RAW ",cache=none", NULL },
    { RAW ",cache=none,aio=native", NULL },
    { RAW ",cache=none,cache.direct=off,aio=native",
      "aio=native was specified, but it requires cache.direct=on, which was not specified." },
    { RAW ",cache=writethrough", NULL },
    { RAW ",cache=directsync", NULL },
    { RAW ",cache=unsafe", NULL },
    { RAW ",foo=1", "Block format 'raw' does not support the option 'foo'" },
    { RAW ",cache.foo=1", "Block format 'raw' does not support the option 'cache.foo'" },
    { RAW ",serial=abc", "Block format 'raw' does not support the option 'serial'" },
    { RAW ",addr=5", "Block format 'raw' does not support the option 'addr'" },
    { RAW ",file.foo=1", "Block protocol 'file' doesn't support the option 'foo'" },
    { RAW ",file.locking=off,file.driver=file", NULL },
    { RAW ",file.filename=disk", "Can't specify 'file' and 'filename' options at the same time" },
    { RAW ",media=disk", NULL },
    { RAW ",media=cdrom", NULL },
    { RAW ",media=foo", "'foo' invalid media" },
    { RAW ",readonly=foo", "Parameter 'read-only' expects 'on' or 'off'" },
    { RAW ",read-only=on", NULL },
    { RAW ",readonly=on,read-only=on",
      "'read-only' and its alias 'readonly' can't be used at the same time" },
    { RAW ",auto-read-only=on", NULL },
    { RAW ",auto-read-only=x", "Parameter 'auto-read-only' expects 'on' or 'off'" },
    { RAW ",force-share=on", "force-share=on can only be used with read-only images" },
    { RAW ",force-share=on,readonly=on", NULL },
    { RAW ",snapshot=off,copy-on-read=off", NULL },
    { RAW ",snapshot=on", "snapshot=on is not supported" },
    { RAW ",copy-on-read=on", "copy-on-read=on is not supported" },
    { RAW ",werror=foo", "'foo' invalid write error action" },
    { RAW ",rerror=enospc", "'enospc' invalid read error action" },
    { RAW ",werror=enospc,rerror=stop", NULL },
    { "if=floppy,id=x,file=disk,format=raw,rerror=stop",
      "rerror is not supported by this bus type" },
    { RAW ",iops=100", NULL },
    { RAW ",throttling.bps-read=1,throttling.bps-read-max=0x10,throttling.group=g", NULL },
    { RAW ",iops=1k", "Parameter 'throttling.iops-total' expects a number" },
    { RAW ",throttling.foo=1",
      "Block format 'raw' does not support the option 'throttling.foo'" },
    { RAW ",iops_max=5", "bps_max/iops_max require corresponding bps/iops values" },
    { RAW ",iops=100,iops_rd=5", "bps/iops/max total values and read/write values cannot be used "
                                 "at the same time" },
    { RAW ",bps=-1", "bps/iops/max values must be within [0, 1000000000000000]" },
    { RAW ",iops=0,bps_rd=0", NULL },
    { RAW ",bps=1,throttling.bps-total=2",
      "'throttling.bps-total' and its alias 'bps' can't be used at the same time" },
    { RAW ",stats-intervals.0=0", "Invalid interval length: 0" },
    { RAW ",stats-intervals.0=5k", "Invalid interval length: 5k" },
    { RAW ",stats-intervals.0=4294967296", "Invalid interval length: 4294967296" },
    { RAW ",stats-intervals.1=5", "Invalid option stats-intervals.1" },
    { RAW ",stats-account-invalid=off,stats-account-failed=off", NULL },
    { RAW ",discard=bad", "Invalid discard option" },
    { RAW ",discard=on,detect-zeroes=unmap", NULL },
    { RAW ",detect-zeroes=unmap", NULL },
    { RAW ",detect-zeroes=x", "invalid parameter value: x" },
    { RAW ",index=1,unit=1", "index cannot be used with bus and unit" },
    { RAW ",bus=x", "Parameter 'bus' expects a number" },
    { "if=scsi,id=x,file=disk,format=raw,unit=9", "unit 9 too big (max is 6)" },
    { "if=none,id=x,file=disk,format=raw,driver=raw",
      "Cannot specify both 'driver' and 'format'" },
    { "if=none,id=x,driver=null-co", NULL },
    { "if=none,id=x,driver=null-co,size=1M,read-zeroes=on", NULL },
    { "if=none,id=x,driver=null-co,file=foo",
      "The only allowed filename for this driver is 'null-co://'" },
    { "if=none,id=x,file=null-co://,format=raw", NULL },
    { "if=none,id=x,file=null-co://,file.size=1M,format=raw", NULL },
    { "if=none,id=x,file=null-co://foo,format=raw",
      "The only allowed filename for this driver is 'null-co://'" },
    { "if=none,id=x,file=json:{\"driver\":\"null-co\"}", NULL },
    { "if=none,id=x,file=json:{\"driver\":\"null-co\",,\"size\":1048576}", NULL },
    { "if=none,id=x,file=json:{\"driver\":\"raw\",,\"file\":{\"driver\":\"file\",,\"filename\":"
      "\"disk\"},,\"offset\":512}",
      NULL },
    { "if=none,id=x,file=json:{\"driver\":\"raw\",,\"file\":\"zz\"}",
      "Cannot find device='zz' nor node-name='zz'" },
    { "if=none,id=x,file=json:{\"driver\":\"file\",,\"filename\":\"disk\"},format=raw",
      "A block device must be specified for \"file\"" },
    { "if=none,id=x,file=json:{\"driver\":\"nosuch\"}", "Unknown driver 'nosuch'" },
    { "if=none,id=x,file=json:{\"driver\":\"null-co\"",
      "Could not parse the JSON options: JSON parse error, premature EOI" },
    { "if=none,id=x,file=json:[1]", "Invalid JSON object given" },
    { "if=none,id=x,driver=raw", "A block device must be specified for \"file\"" },
    { "if=none,id=x,format=raw", "A block device must be specified for \"file\"" },
    { "if=none,id=x,driver=file,filename=disk", NULL },
    { "if=none,id=x,format=raw,file.driver=file,file.filename=disk", NULL },
    { "if=none,id=x,format=raw,file.filename=disk", NULL },
    { "if=none,id=x,format=raw,file.driver=file",
      "The 'file' block driver requires a file name" },
    { "if=none,id=x,format=raw,file.driver=nosuch", "Unknown driver 'nosuch'" },
    { "if=none,id=x,file=foo:disk,format=raw", "Unknown protocol 'foo'" },
    { "if=none,id=x,file=file:disk,format=raw", NULL },
    { "if=none,id=x,file=./foo:disk,format=raw",
      "Could not open './foo:disk': No such file or directory" },
    { RAW ",offset=512,size=1k", NULL },
    { RAW ",offset=abc", "Parameter 'offset' expects a non-negative number below 2^64" },
    { RAW ",size=1000", "Specified size is not multiple of 512" },
    { RAW ",node-name=n", NULL },
    { RAW ",node-name=1x", "Invalid node-name: '1x'" },
    { RAW ",node-name=x", "Device name 'x' conflicts with an existing node name" },
    { "if=none,id=taken,file=disk,format=raw",
      "Device name 'taken' conflicts with an existing node name" },
    { "if=none,id=x,file=disk,format=host_device",
      "'host_device' driver requires 'disk' to be either a character or block device" },
    { "if=none,id=x,file=/dev/null,format=raw", NULL },
};

static bool try_drive(const char *text, Error **errp)
{
    g_autoptr(Opts) opts = opts_parse(text, NULL, NULL, errp);

    return opts && drive_new(opts, "none", errp);
}

static void test_cases(void)
{
    make_file("disk", 1024 * 1024);
    add_node("null-co,node-name=taken");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Error *err = NULL;
        bool ok = try_drive(cases[i].options, &err);

        if (cases[i].error) {
            expect_error(ok, &err, cases[i].error);
        } else {
            if (!ok) {
                g_error("%s: %s", cases[i].options, error_message(err));
            }
            del_node("x");
        }
        g_assert_cmpint(drive_list()->len, ==, 0);
    }
    del_node("taken");
}

/* What goes to stderr meanwhile; caller frees. */
static char *drive_and_output(const char *text, Error **errp)
{
    int saved = dup(2), fd = open("stderr", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *out = NULL;

    g_assert_true(saved >= 0 && fd >= 0 && dup2(fd, 2) == 2);
    try_drive(text, errp);
    dup2(saved, 2);
    close(saved);
    close(fd);
    g_assert_true(g_file_get_contents("stderr", &out, NULL, NULL));
    return out;
}

static void test_guessed(void)
{
    static const char qcow2[512] = "QFI\xfb\0\0\0\3";
    g_autofree char *out = NULL, *ro = NULL, *foreign = NULL;
    Error *err = NULL;

    make_file("disk", 1024 * 1024);
    out = drive_and_output("if=none,id=x,file=disk", &err);
    g_assert_null(err);
    g_assert_nonnull(g_strstr_len(
        out, -1,
        "WARNING: Image format was not specified for 'disk' and probing guessed raw."));
    g_assert_nonnull(g_strstr_len(out, -1, "write operations on block 0 will be restricted."));
    del_node("x");
    ro = drive_and_output("if=none,id=x,file=disk,readonly=on", &err);
    g_assert_null(err);
    g_assert_cmpstr(ro, ==, "");
    del_node("x");
    g_assert_true(g_file_set_contents("disk", qcow2, sizeof(qcow2), NULL));
    foreign = drive_and_output("if=none,id=x,file=disk", &err);
    expect_error(false, &err,
                 "Image 'disk' is in qcow2 format, which is not supported; specify format=raw to "
                 "use it as it is");
    g_assert_true(try_drive(RAW, &err));
    del_node("x");
}

static void test_places(void)
{
    Error *err = NULL;
    TestDev *d;

    make_file("disk", 1024 * 1024);
    g_assert_true(try_drive("if=virtio,file=disk,format=raw", &err));
    g_assert_true(try_drive("if=virtio,file=disk,format=raw", &err));
    g_assert_nonnull(drive_find("virtio0"));
    g_assert_cmpint(drive_find("virtio1")->index, ==, 1);
    expect_error(try_drive("if=virtio,index=1,file=disk,format=raw", &err), &err,
                 "drive with bus=0, unit=1 (index=1) exists");
    g_assert_true(try_drive("if=none,file=disk,format=raw,media=cdrom", &err));
    g_assert_true(drive_find("none0")->is_cdrom);
    g_assert_true(blk_is_read_only(drive_find("none0")->blk));
    g_assert_true(try_drive("if=scsi,index=8,file=disk,format=raw", &err));
    g_assert_nonnull(drive_find("scsi1-hd1"));
    g_assert_true(try_drive(RAW, &err));
    expect_error(try_drive(RAW, &err), &err, "Duplicate ID 'x' for drive");
    expect_error(try_add("null-co,node-name=x", &err), &err,
                 "node-name=x is conflicting with a device id");

    d = try_dev("x", "v", false, &err);
    expect_error(try_dev("x", "w", false, &err) != NULL, &err,
                 "Drive 'x' is already in use by another device");
    test_dev_free(d);
    d = try_dev("virtio0", "v", false, &err);
    expect_error(try_dev("virtio0", "w", false, &err) != NULL, &err,
                 "Drive 'virtio0' is already in use because it has been automatically connected "
                 "to another device (did you need 'if=none' in the drive options?)");
    test_dev_free(d);
    while (drive_list()->len) {
        del_node(((DriveInfo *)g_ptr_array_index(drive_list(), 0))->id);
    }
}

/* The medium can go while the device stays. */
static void test_removed_under_device(void)
{
    Error *err = NULL;
    uint8_t buf[512];
    TestDev *d;

    make_file("disk", 1024 * 1024);
    g_assert_true(drive_add(RAW, &err));
    expect_error(drive_add("if=virtio,id=y,file=disk,format=raw", &err), &err,
                 "Can't hot-add drive to type 7");
    d = make_dev("x");
    g_assert_true(drive_del("x", &err));
    g_assert_false(blk_is_inserted(d->blk));
    g_assert_cmpint(do_read(d->blk, 0, buf, 512), <, 0);
    expect_error(drive_del("x", &err), &err, "Device 'x' not found");
    expect_error(drive_add(RAW, &err), &err, "Duplicate ID 'x' for drive");
    drive_device_gone(d->blk);
    test_dev_free(d);
    g_assert_true(drive_add(RAW, &err));
    del_node("x");
}

static void test_cache_modes(void)
{
    static const struct {
        const char *mode, *text;
        bool writeback;
    } modes[] = {
        { "none", "writeback, direct", true },
        { "writeback", "writeback", true },
        { "writethrough", "writethrough", false },
        { "directsync", "writethrough, direct", false },
        { "unsafe", "writeback, ignore flushes", true },
    };

    make_file("disk", 1024 * 1024);
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *opts = g_strdup_printf(RAW ",cache=%s", modes[i].mode);
        g_autofree char *line = g_strdup_printf("    Cache mode:       %s\n", modes[i].text);
        g_autofree char *text = NULL;
        Error *err = NULL;

        g_assert_true(try_drive(opts, &err));
        text = block_info_text(false, false, "x");
        g_assert_nonnull(strstr(text, line));
        g_assert_cmpint(blk_write_cache(drive_find("x")->blk), ==, modes[i].writeback);
        del_node("x");
    }
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_func("/block/drive/cases", test_cases);
    g_test_add_func("/block/drive/guessed", test_guessed);
    g_test_add_func("/block/drive/places", test_places);
    g_test_add_func("/block/drive/removed-under-device", test_removed_under_device);
    g_test_add_func("/block/drive/cache-modes", test_cache_modes);
    return fixture_run();
}
