/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI functions on a root bus of their own: masks, BARs, bridges' windows, MSI-X, INTx, addresses.
 */
#include <linux/pci_regs.h>
#include <string.h>
#include <sys/mman.h>

#include "hw/core/irq.h"
#include "hw/pci/bridge.h"
#include "util/aio.h"
#include "util/biglock.h"

static PCIBus *root;
static int pins[4]; /* devices that drive each pin of the root bus */
static uint8_t *ram;

static void root_set_irq(PCIBus *bus, PCIDevice *dev, int pin, bool level)
{
    pins[(pin + PCI_SLOT_OF(dev->devfn)) & 3] += level ? 1 : -1;
}

/* ---- a function with everything ---- */

static uint64_t last_value;

static uint64_t bar_read(void *opaque, uint64_t offset, unsigned size)
{
    return 0xb0 + offset;
}

static void bar_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    last_value = value;
}

static const MmioOps bar_ops = {.read = bar_read, .write = bar_write, .max_size = 4};
static unsigned resets;

static bool fn_realize(PCIDevice *dev, Error **errp)
{
    dev->config[PCI_INTERRUPT_PIN] = 1;
    pci_add_bar(dev, 0, mmio_region_new("io", &bar_ops, dev, 0x20), PCI_BASE_ADDRESS_SPACE_IO);
    pci_add_bar(dev, 2, mmio_region_new("mem", &bar_ops, dev, 0x1000), 0);
    pci_add_bar(dev, 4, mmio_region_new("mem64", &bar_ops, dev, 0x4000),
                PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
    g_assert_true(msix_init(dev, 5, 1, 0));
    if (pci_behind_pcie_port(dev)) {
        pcie_endpoint_cap_init(dev, 0);
    }
    return true;
}

static void fn_reset(PCIDevice *dev)
{
    resets++;
}

static void fn_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x1234;
    pc->device_id = 0x5678;
    pc->class_id = 0x010000;
    pc->realize = fn_realize;
    pc->reset = fn_reset;
    ((DeviceClass *)klass)->user_creatable = true;
}

static const TypeInfo fn_type = {
    .name = "test-function",
    .parent = TYPE_PCI_DEVICE,
    .class_init = fn_class_init,
};
TYPE_REGISTER(fn_type)

static PCIDevice *add(const char *type, PCIBus *bus, const char *addr, bool multi, Error **errp)
{
    g_autoptr(Object) obj = object_new(type);
    PCIDevice *dev = PCI_DEVICE(obj);

    if (addr) {
        object_property_set_str(obj, "addr", addr, &error_abort);
    }
    dev->multifunction = multi;
    if (!device_realize(&dev->parent_obj, &bus->parent_obj, errp)) {
        return NULL;
    }
    device_reset(&dev->parent_obj);
    return dev;
}

static void gone(PCIDevice *dev)
{
    device_unplug(&dev->parent_obj);
}

static uint32_t rd(PCIDevice *d, unsigned at, unsigned size)
{
    return pci_config_read(d, at, size);
}

static void test_masks(void)
{
    PCIDevice *d = add("test-function", root, "4", false, &error_abort);

    g_assert_cmphex(rd(d, 0, 4), ==, 0x56781234);
    pci_config_write(d, 0, 0xffffffff, 4);
    g_assert_cmphex(rd(d, 0, 4), ==, 0x56781234);
    pci_config_write(d, PCI_COMMAND, 0xffffffff, 4);
    g_assert_cmphex(rd(d, PCI_COMMAND, 2), ==, 0x0507);
    pci_config_write(d, PCI_BASE_ADDRESS_0, 0xffffffff, 4);
    g_assert_cmphex(rd(d, PCI_BASE_ADDRESS_0, 4), ==, 0xffffffe1);
    pci_config_write(d, PCI_BASE_ADDRESS_4, 0xffffffff, 4);
    pci_config_write(d, PCI_BASE_ADDRESS_5, 0xffffffff, 4);
    g_assert_cmphex(rd(d, PCI_BASE_ADDRESS_4, 4), ==, 0xffffc00c);
    g_assert_cmphex(rd(d, PCI_BASE_ADDRESS_5, 4), ==, 0xffffffff);
    /* Unaligned and partial accesses see the same bytes. */
    g_assert_cmphex(rd(d, 1, 2), ==, 0x7812);
    pci_config_write(d, PCI_COMMAND + 1, 0x00, 1);
    g_assert_cmphex(rd(d, PCI_COMMAND, 2), ==, 0x0007);
    /* Beyond the end. */
    g_assert_cmphex(rd(d, 0xff, 1), ==, 0);
    g_assert_cmphex(rd(d, 0xfe, 4), ==, 0xffffffff);
    g_assert_cmphex(rd(d, 0x100, 4), ==, 0xffffffff);
    pci_config_write(d, 0xfe, 0, 4);
    gone(d);
}

static void test_bars(void)
{
    PCIDevice *d = add("test-function", root, "4", false, &error_abort);

    pci_config_write(d, PCI_BASE_ADDRESS_0, 0xc000, 4);
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0xe0000000, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0000004, 4), ==, 0);
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0000004, 4), ==, 0xb4);
    g_assert_cmphex(address_space_load(guest_ports, 0xc004, 4), ==, 0xffffffff);
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_IO, 2);
    g_assert_cmphex(address_space_load(guest_ports, 0xc004, 4), ==, 0xb4);
    /* Moved, high, over RAM, probed while enabled. */
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0xe1000000, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0000004, 4), ==, 0);
    g_assert_cmphex(address_space_load(guest_memory, 0xe1000004, 4), ==, 0xb4);
    pci_config_write(d, PCI_BASE_ADDRESS_4, 0, 4);
    pci_config_write(d, PCI_BASE_ADDRESS_5, 0x12, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0x1200000008, 4), ==, 0xb8);
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0x100000, 4);
    address_space_store(guest_memory, 0x100000, 0x42, 4);
    g_assert_cmphex(ram[0], ==, 0x42);
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0xffffffff, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0xfffff000, 4), ==, 0);
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0, 4), ==, 0);
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0xe1000000, 4);
    device_reset(&d->parent_obj);
    g_assert_cmphex(address_space_load(guest_memory, 0xe1000004, 4), ==, 0);
    g_assert_cmphex(rd(d, PCI_BASE_ADDRESS_2, 4), ==, 0);
    g_assert_cmphex(rd(d, PCI_COMMAND, 2), ==, 0);
    gone(d);
}

static void test_msix(void)
{
    PCIDevice *d = add("test-function", root, "4", false, &error_abort);
    unsigned cap = rd(d, PCI_CAPABILITY_LIST, 1);
    uint64_t table = 0xe0000000;

    g_assert_cmphex(rd(d, cap, 1), ==, PCI_CAP_ID_MSIX);
    g_assert_cmphex(rd(d, cap + 2, 2), ==, 4);
    g_assert_cmphex(rd(d, cap + 8, 4), ==, 0x801);
    pci_config_write(d, PCI_BASE_ADDRESS_1, table, 4);
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
    g_assert_cmphex(address_space_load(guest_memory, table + 12, 4), ==, 1);
    memset(ram, 0, 16);
    address_space_store(guest_memory, table + 16, 0x100000, 8);
    address_space_store(guest_memory, table + 24, 0x12345678, 4);
    /* Off: nothing, not even pending. */
    msix_notify(d, 1);
    g_assert_cmphex(address_space_load(guest_memory, table + 0x800, 8), ==, 0);
    pci_config_write(d, cap + 2, PCI_MSIX_FLAGS_ENABLE, 2);
    msix_notify(d, 1);
    g_assert_cmphex(address_space_load(guest_memory, table + 0x800, 8), ==, 2);
    g_assert_cmphex(pci_get_long(ram), ==, 0);
    /* Unmasked by the whole entry in one write. */
    address_space_store(guest_memory, table + 24, 0x12345678, 8);
    g_assert_cmphex(pci_get_long(ram), ==, 0x12345678);
    g_assert_cmphex(address_space_load(guest_memory, table + 0x800, 8), ==, 0);
    memset(ram, 0, 16);
    /* Function mask. */
    pci_config_write(d, cap + 2, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
    msix_notify(d, 1);
    g_assert_true(msix_masked(d, 1));
    g_assert_cmphex(pci_get_long(ram), ==, 0);
    pci_config_write(d, cap + 2, PCI_MSIX_FLAGS_ENABLE, 2);
    g_assert_cmphex(pci_get_long(ram), ==, 0x12345678);
    memset(ram, 0, 16);
    /* It is DMA. */
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
    msix_notify(d, 1);
    pci_config_write(d, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
    g_assert_cmphex(pci_get_long(ram), ==, 0);
    /* Pending bits are not the guest's. */
    address_space_store(guest_memory, table + 0x800, UINT64_MAX, 8);
    g_assert_cmphex(address_space_load(guest_memory, table + 0x800, 8), ==, 0);
    /* Its own table as the target of its message. */
    address_space_store(guest_memory, table + 16, table + 28, 8);
    address_space_store(guest_memory, table + 24, 0, 8);
    msix_notify(d, 1);
    msix_notify(d, 5);
    msix_notify(d, UINT32_MAX);
    device_reset(&d->parent_obj);
    g_assert_false(msix_enabled(d));
    g_assert_cmphex(rd(d, cap + 2, 2), ==, 4);
    gone(d);
}

static void test_bridge(void)
{
    PCIDevice *port = add("pcie-root-port", root, "6", false, &error_abort);
    PCIBus *bus = PCI_BRIDGE(port)->secondary;
    PCIDevice *d = add("test-function", bus, NULL, false, &error_abort);

    g_assert_true(d->is_express);
    g_assert_null(pci_find_device(root, 1, 0));
    pci_config_write(port, PCI_PRIMARY_BUS, 0x010100, 4);
    g_assert_true(pci_find_device(root, 1, 0) == d);
    g_assert_cmphex(pci_host_read(root, 1, 0, 0, 4), ==, 0x56781234);
    g_assert_cmphex(pci_host_read(root, 1, 8, 0, 4), ==, 0xffffffff);
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0xe0100000, 4);
    pci_config_write(d, PCI_COMMAND, 7, 2);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0100004, 4), ==, 0);
    pci_config_write(port, PCI_MEMORY_BASE, 0xe010e010, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0100004, 4), ==, 0);
    pci_config_write(port, PCI_COMMAND, 7, 2);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0100004, 4), ==, 0xb4);
    /* Just outside the window. */
    pci_config_write(d, PCI_BASE_ADDRESS_2, 0xe0200000, 4);
    g_assert_cmphex(address_space_load(guest_memory, 0xe0200004, 4), ==, 0);
    /* INTA of slot 0 behind slot 6 is the root's (0 + 0 + 6) mod 4. */
    pci_set_intx(d, true);
    g_assert_cmpint(pins[2], ==, 1);
    pci_config_write(d, PCI_COMMAND, 7 | PCI_COMMAND_INTX_DISABLE, 2);
    g_assert_cmpint(pins[2], ==, 0);
    pci_config_write(d, PCI_COMMAND, 7, 2);
    g_assert_cmpint(pins[2], ==, 1);
    /* Reset of the function, by itself and by its bus. */
    resets = 0;
    pci_config_write(d, d->exp_cap + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
    g_assert_cmpuint(resets, ==, 1);
    g_assert_cmpint(pins[2], ==, 0);
    pci_config_write(port, PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_BUS_RESET, 2);
    pci_config_write(port, PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_BUS_RESET, 2);
    g_assert_cmpuint(resets, ==, 2);
    /* The interrupt of a device that goes while it is up goes with it. */
    pci_set_intx(d, true);
    g_assert_cmpint(pins[2], ==, 1);
    gone(port);
    g_assert_cmpint(pins[2], ==, 0);
    g_assert_null(pci_find_device(root, 1, 0));
}

static void test_bus_number_ring(void)
{
    PCIDevice *a = add("pci-bridge", root, "7", false, NULL);

    g_assert_null(a); /* no chassis number */
    g_autoptr(Object) obj = object_new("pci-bridge");

    object_property_set_str(obj, "chassis_nr", "1", &error_abort);
    g_assert_true(device_realize(DEVICE(obj), &root->parent_obj, &error_abort));
    PCIDevice *b = PCI_DEVICE(obj);

    /* Its secondary bus is its own primary one, and everything lies below it. */
    pci_config_write(b, PCI_PRIMARY_BUS, 0xff0000, 4);
    g_assert_cmphex(pci_host_read(root, 0, b->devfn, 0, 4), ==, 0x00011b36);
    g_assert_cmphex(pci_host_read(root, 5, b->devfn, 0, 4), ==, 0xffffffff);
    pci_config_write(b, PCI_PRIMARY_BUS, 0x00ff01, 4);
    g_assert_cmphex(pci_host_read(root, 0xff, 0, 0, 4), ==, 0xffffffff);
    gone(b);
}

static void expect_error(PCIDevice *dev, Error **err, const char *text)
{
    g_assert_null(dev);
    g_assert_cmpstr(error_message(*err), ==, text);
    g_clear_pointer(err, error_free);
}

static void test_addresses(void)
{
    Error *err = NULL;
    PCIDevice *d = add("test-function", root, "5.1", false, &error_abort);

    expect_error(add("test-function", root, "5.0", false, &err), &err,
                 "PCI: 5.0 indicates single function, but 5.1 is already populated.");
    expect_error(add("test-function", root, "5.1", false, &err), &err,
                 "PCI: slot 5 function 1 not available for test-function, in use by "
                 "test-function,id=(null)");
    PCIDevice *zero = add("test-function", root, "5.0", true, &error_abort);

    g_assert_cmphex(rd(zero, PCI_HEADER_TYPE, 1), ==, 0x80);
    gone(zero);
    gone(d);
    d = add("test-function", root, "5", false, &error_abort);
    expect_error(add("test-function", root, "5.3", false, &err), &err,
                 "PCI: single function device can't be populated in function 5.3");
    gone(d);
    /* The first free slot. */
    d = add("test-function", root, NULL, false, &error_abort);
    g_assert_cmpint(d->devfn, ==, PCI_DEVFN(0, 0));
    gone(d);
}

static void test_addr_text(void)
{
    static const char *const bad[] = {"5.8", "20", "-1", "abc", "", "5.", "5.0.0", "ff", "1.", ".1",
                                      "5 ", "0x", "1ffffffff", "5.-1"};
    static const struct {
        const char *text;
        int devfn;
    } good[] = {{"5", 0x28}, {"05.0", 0x28}, {"0x5", 0x28}, {"1f.7", 0xff}, {"0", 0}, {"1F", 0xf8}};
    g_autoptr(Object) obj = object_new("test-function");

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(object_property_set_str(obj, "addr", bad[i], NULL));
        g_assert_cmpint(PCI_DEVICE(obj)->devfn_prop, ==, -1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(good); i++) {
        g_assert_true(object_property_set_str(obj, "addr", good[i].text, &error_abort));
        g_assert_cmpint(PCI_DEVICE(obj)->devfn_prop, ==, good[i].devfn);
    }
}

/* Any sequence of writes leaves a function that answers, and a map without leftovers. */
static void test_random_writes(void)
{
    PCIDevice *port = add("pcie-root-port", root, "6", false, &error_abort);
    PCIDevice *d = add("test-function", PCI_BRIDGE(port)->secondary, NULL, false, &error_abort);

    for (unsigned i = 0; i < 20000; i++) {
        PCIDevice *t = g_test_rand_int_range(0, 2) ? d : port;
        int at = g_test_rand_int_range(0, i & 1 ? 0x100 : 0x40);
        int size = 1 << g_test_rand_int_range(0, 3);
        uint32_t v = g_test_rand_int_range(0, 3) ? (uint32_t)g_test_rand_int() : 0xe0000007;

        /* The slot may not take the device away: that is another test's. */
        if (t == port && at + size > port->exp_cap + PCI_EXP_SLTCTL &&
            at < port->exp_cap + PCI_EXP_SLTCTL + 4) {
            continue;
        }
        pci_config_write(t, at, v, size);
        pci_set_intx(d, v & 1);
        msix_notify(d, v % 6);
    }
    device_reset(&d->parent_obj);
    device_reset(&port->parent_obj);
    g_assert_cmphex(rd(d, 0, 4), ==, 0x56781234);
    g_assert_cmpint(pins[2], ==, 0);
    gone(port);
    for (uint64_t a = 0xe0000000; a < 0xe0100000; a += 0x1000) {
        g_assert_cmphex(address_space_load(guest_memory, a, 4), ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    if (!big_lock_held()) {
        big_lock();
    }
    ram = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    guest_ram_add("ram", 0x100000, 0x10000, ram, false, &error_abort);
    root = pci_bus_new(TYPE_PCIE_BUS, NULL, NULL, "pcie.0");
    root->set_irq = root_set_irq;
    g_test_add_func("/pci/masks", test_masks);
    g_test_add_func("/pci/bars", test_bars);
    g_test_add_func("/pci/msix", test_msix);
    g_test_add_func("/pci/bridge", test_bridge);
    g_test_add_func("/pci/bus-number-ring", test_bus_number_ring);
    g_test_add_func("/pci/addresses", test_addresses);
    g_test_add_func("/pci/addr-text", test_addr_text);
    g_test_add_func("/pci/random-writes", test_random_writes);
    return g_test_run();
}
