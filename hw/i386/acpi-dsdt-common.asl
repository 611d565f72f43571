/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the DSDTs of all PC machines share: inside the definition block, after \_SB.PCI0. */

    /* Values of PM1 control for soft off. */
    Name (\_S5, Package () { 0, 0, 0, 0 })

    Scope (\_SB.PCI0)
    {
        Name (WINS, ResourceTemplate ()
        {
            WordBusNumber (ResourceProducer, MinFixed, MaxFixed, PosDecode,
                0x0000, 0x0000, 0x00FF, 0x0000, 0x0100)
            IO (Decode16, 0x0CF8, 0x0CF8, 0x01, 0x08)
            WordIO (ResourceProducer, MinFixed, MaxFixed, PosDecode, EntireRange,
                0x0000, 0x0000, 0x0CF7, 0x0000, 0x0CF8)
            WordIO (ResourceProducer, MinFixed, MaxFixed, PosDecode, EntireRange,
                0x0000, 0x0D00, 0xFFFF, 0x0000, 0xF300)
            DWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed, Cacheable, ReadWrite,
                0x00000000, 0x000A0000, 0x000BFFFF, 0x00000000, 0x00020000)
            DWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed, NonCacheable, ReadWrite,
                0x00000000, 0xC0000000, 0xFEBFFFFF, 0x00000000, 0x3EC00000, , , W32A)
            QWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed, Cacheable, ReadWrite,
                0x0000000000000000, 0x0000000800000000, 0x0000000FFFFFFFFF,
                0x0000000000000000, 0x0000000800000000, , , W64A)
        })

        /* The windows; their places depend on how much RAM there is. */
        Method (_CRS, 0, Serialized)
        {
            CreateDWordField (WINS, \_SB.PCI0.W32A._MIN, W32L)
            CreateDWordField (WINS, \_SB.PCI0.W32A._MAX, W32H)
            CreateDWordField (WINS, \_SB.PCI0.W32A._LEN, W32S)
            CreateQWordField (WINS, \_SB.PCI0.W64A._MIN, W64L)
            CreateQWordField (WINS, \_SB.PCI0.W64A._MAX, W64H)
            CreateQWordField (WINS, \_SB.PCI0.W64A._LEN, W64S)
            W32L = \M32B
            W32H = \M32E - 1
            W32S = \M32E - \M32B
            W64L = \M64B
            W64H = \M64B + \M64S - 1
            W64S = \M64S
            Return (WINS)
        }
    }

    Scope (\_SB.PCI0.ISA_)
    {
        /* Status of the serial port with that bit. */
        Method (COMP, 1)
        {
            If (\COMS & Arg0)
            {
                Return (0x0F)
            }
            Return (0)
        }

        Device (RTC_)
        {
            Name (_HID, EisaId ("PNP0B00"))
            Name (_CRS, ResourceTemplate ()
            {
                IO (Decode16, 0x0070, 0x0070, 0x01, 0x02)
                IRQNoFlags () { 8 }
            })
        }
        /* The panic device. */
        Device (PEVT)
        {
            Name (_HID, "QEMU0001")
            Name (PRES, ResourceTemplate ()
            {
                IO (Decode16, 0x0000, 0x0000, 0x01, 0x01, PPIO)
            })
            Method (_STA)
            {
                If (\PANP)
                {
                    Return (0x0F)
                }
                Return (0)
            }
            Method (_CRS)
            {
                CreateWordField (PRES, \_SB.PCI0.ISA_.PEVT.PPIO._MIN, PMIN)
                CreateWordField (PRES, \_SB.PCI0.ISA_.PEVT.PPIO._MAX, PMAX)
                PMIN = \PANP
                PMAX = \PANP
                Return (PRES)
            }
        }
        Device (COM1)
        {
            Name (_HID, EisaId ("PNP0501"))
            Name (_UID, 1)
            Method (_STA) { Return (COMP (1)) }
            Name (_CRS, ResourceTemplate ()
            {
                IO (Decode16, 0x03F8, 0x03F8, 0x00, 0x08)
                IRQNoFlags () { 4 }
            })
        }
        Device (COM2)
        {
            Name (_HID, EisaId ("PNP0501"))
            Name (_UID, 2)
            Method (_STA) { Return (COMP (2)) }
            Name (_CRS, ResourceTemplate ()
            {
                IO (Decode16, 0x02F8, 0x02F8, 0x00, 0x08)
                IRQNoFlags () { 3 }
            })
        }
        Device (COM3)
        {
            Name (_HID, EisaId ("PNP0501"))
            Name (_UID, 3)
            Method (_STA) { Return (COMP (4)) }
            Name (_CRS, ResourceTemplate ()
            {
                IO (Decode16, 0x03E8, 0x03E8, 0x00, 0x08)
                IRQNoFlags () { 4 }
            })
        }
        Device (COM4)
        {
            Name (_HID, EisaId ("PNP0501"))
            Name (_UID, 4)
            Method (_STA) { Return (COMP (8)) }
            Name (_CRS, ResourceTemplate ()
            {
                IO (Decode16, 0x02E8, 0x02E8, 0x00, 0x08)
                IRQNoFlags () { 3 }
            })
        }
    }

    /* Hot-plug by ACPI: which slots of the selected bus have something new, or something to let go of. */
    Scope (\_SB.PCI0)
    {
        OperationRegion (HPIO, SystemIO, HPBASE, 0x14)
        Field (HPIO, DWordAcc, NoLock, WriteAsZeros)
        {
            HPUP, 32,
            HPDN, 32,
            HPEJ, 32,
            HPRM, 32,
            HPBN, 32
        }
        Mutex (HPLK, 0)
        /* Bus, slot. */
        Method (EJCT, 2)
        {
            Acquire (HPLK, 0xFFFF)
            HPBN = Arg0
            HPEJ = 1 << Arg1
            Release (HPLK)
        }
        /* Called on the event: all buses are asked what happened. */
        Method (HPEV)
        {
            If (CondRefOf (HPNT))
            {
                Acquire (HPLK, 0xFFFF)
                HPNT ()
                Release (HPLK)
            }
        }
    }

    Scope (\_GPE)
    {
        Method (_E01)
        {
            \_SB.PCI0.HPEV ()
        }
    }
