/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixed part of the pc (i440FX) machine's ACPI namespace. */
#define HPBASE 0xAE00

DefinitionBlock ("", "DSDT", 2, "SPNDL ", "SPINDLE ", 1)
{
    External (\M32B, IntObj)
    External (\M32E, IntObj)
    External (\M64B, IntObj)
    External (\M64S, IntObj)
    External (\COMS, IntObj)
    External (\PANP, IntObj)
    External (\_SB.PCI0.HPNT, MethodObj)

    Scope (\_SB)
    {
        Device (PCI0)
        {
            Name (_HID, EisaId ("PNP0A03"))
            Name (_UID, 0)

            Device (ISA_)
            {
                Name (_ADR, 0x00010000)
            }
        }

        /* The four inputs of the interrupt router, which the router leads to lines 10 and 11. */
        Device (LNKA)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 1)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 10 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 10 } })
            Method (_SRS, 1) { }
        }
        Device (LNKB)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 2)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 10 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 10 } })
            Method (_SRS, 1) { }
        }
        Device (LNKC)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 3)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 11 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 11 } })
            Method (_SRS, 1) { }
        }
        Device (LNKD)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 4)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 11 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 11 } })
            Method (_SRS, 1) { }
        }
    }

#include "acpi-dsdt-common.asl"
}
