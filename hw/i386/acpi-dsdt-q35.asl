/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixed part of the q35 machine's ACPI namespace. */
#define HPBASE 0x0CC0

DefinitionBlock ("", "DSDT", 2, "SPNDL ", "SPINDLE ", 1)
{
    External (\M32B, IntObj)
    External (\M32E, IntObj)
    External (\M64B, IntObj)
    External (\M64S, IntObj)
    External (\COMS, IntObj)
    External (\PANP, IntObj)
    External (\OSCM, IntObj)
    External (\_SB.PCI0.HPNT, MethodObj)

    Scope (\_SB)
    {
        Device (PCI0)
        {
            Name (_HID, EisaId ("PNP0A08"))
            Name (_CID, EisaId ("PNP0A03"))
            Name (_UID, 0)
            Name (_CCA, 1)

            /* What the operating system may do by itself. */
            Method (_OSC, 4)
            {
                CreateDWordField (Arg3, 0, OSC1)
                If (Arg0 == ToUUID ("33DB4D5B-1FF7-401C-9657-7441C03DD766"))
                {
                    CreateDWordField (Arg3, 8, OSC3)
                    Local0 = OSC3 & \OSCM
                    If (Arg1 != 1)
                    {
                        OSC1 |= 0x08
                    }
                    If (Local0 != OSC3)
                    {
                        OSC1 |= 0x10
                    }
                    OSC3 = Local0
                }
                Else
                {
                    OSC1 |= 0x04
                }
                Return (Arg3)
            }

            Device (ISA_)
            {
                Name (_ADR, 0x001F0000)
            }
        }

        /* The window of configuration space. */
        Device (ECAM)
        {
            Name (_HID, EisaId ("PNP0C02"))
            Name (_UID, 1)
            Name (_CRS, ResourceTemplate ()
            {
                Memory32Fixed (ReadWrite, 0xB0000000, 0x10000000)
            })
        }

        /* The eight inputs of the interrupt router, wired to lines 16 to 23. */
        Device (GSIA)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 1)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 16 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 16 } })
            Method (_SRS, 1) { }
        }
        Device (GSIB)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 2)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 17 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 17 } })
            Method (_SRS, 1) { }
        }
        Device (GSIC)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 3)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 18 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 18 } })
            Method (_SRS, 1) { }
        }
        Device (GSID)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 4)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 19 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 19 } })
            Method (_SRS, 1) { }
        }
        Device (GSIE)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 5)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 20 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 20 } })
            Method (_SRS, 1) { }
        }
        Device (GSIF)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 6)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 21 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 21 } })
            Method (_SRS, 1) { }
        }
        Device (GSIG)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 7)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 22 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 22 } })
            Method (_SRS, 1) { }
        }
        Device (GSIH)
        {
            Name (_HID, EisaId ("PNP0C0F"))
            Name (_UID, 8)
            Name (_PRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 23 } })
            Name (_CRS, ResourceTemplate () { Interrupt (, Level, ActiveHigh, Shared) { 23 } })
            Method (_SRS, 1) { }
        }
    }

#include "acpi-dsdt-common.asl"
}
