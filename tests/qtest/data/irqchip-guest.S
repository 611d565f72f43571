/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that tries the interrupt controllers and the timer, and writes a letter to COM1 for each
 * thing that works. Entered by PVH: 32-bit protected mode, flat segments, at 0x100000. */
#define IDT      0x80000
#define STACK    0x90000
#define LAPIC    0xfee00000
#define IOAPIC   0xfec00000
#define CODE_SEG 0x10

    .macro out8 port, value
    movl $\port, %edx
    movb $\value, %al
    outb %al, %dx
    .endm
    .macro gate vector, handler
    movl $\handler, %eax
    movw %ax, IDT + 8 * \vector
    movw $CODE_SEG, IDT + 8 * \vector + 2
    movw $0x8e00, IDT + 8 * \vector + 4
    shrl $16, %eax
    movw %ax, IDT + 8 * \vector + 6
    .endm
    .macro ioapic reg, value
    movl $\reg, IOAPIC
    movl $\value, IOAPIC + 0x10
    .endm
    .macro say letter
    out8 0x3f8, \letter
    .endm
    /* Without iret, which KVM does not emulate where it has to emulate a guest's kernel: a handler
     * returns with interrupts off, and whoever waits for them opens a window. */
    .macro return
    popl return_to
    addl $8, %esp
    jmp *return_to
    .endm
    .macro window
    sti
    nop
    nop
    cli
    .endm
    .macro idle n
    movl $\n, %ecx
1:  inb $0x80, %al
    window
    loop 1b
    .endm
    .macro wait_ticks n
    movl $0, ticks
1:  sti
    hlt
    cli
    cmpl $\n, ticks
    jb 1b
    .endm

    .code32
    .globl start
start:
    cli
    movl $STACK, %esp
    gate 0x20, pic_tick
    gate 0x40, apic_tick
    gate 0x41, serial
    gate 0x42, spurious
    lidt idtr

    /* The timer by way of the 8259s. */
    out8 0x20, 0x11
    out8 0x21, 0x20
    out8 0x21, 0x04
    out8 0x21, 0x01
    out8 0xa0, 0x11
    out8 0xa1, 0x28
    out8 0xa1, 0x02
    out8 0xa1, 0x01
    out8 0x21, 0xfe
    out8 0xa1, 0xff
    out8 0x43, 0x34
    out8 0x40, 0xa9
    out8 0x40, 0x04
    wait_ticks 5
    say 'P'

    /* The timer by way of the I/O APIC: edges. */
    out8 0x21, 0xff
    movl $0x142, LAPIC + 0xf0
    ioapic 0x15, 0
    ioapic 0x14, 0x40
    wait_ticks 5
    ioapic 0x14, 0x10040
    say 'A'

    /* The serial port as a level: it comes again until its cause is gone, and not after. */
    ioapic 0x19, 0
    ioapic 0x18, 0x8041
    out8 0x3fc, 0x08
    movl $0, ticks
    out8 0x3f9, 0x02
2:  window
    cmpl $3, ticks
    jb 2b
    out8 0x3f9, 0x00
    idle 50
    movl ticks, %ebx
    idle 200
    cmpl %ebx, ticks
    jne fail
    say 'L'

    /* A level that rises while its pin is masked comes when the mask goes. */
    ioapic 0x18, 0x18041
    out8 0x3f9, 0x02
    idle 200
    cmpl %ebx, ticks
    jne fail
    ioapic 0x18, 0x8041
5:  window
    cmpl %ebx, ticks
    je 5b
    out8 0x3f9, 0x00
    say 'M'

    /* Counter 2, which only its output tells of. */
    out8 0x61, 0x01
    out8 0x43, 0xb0
    out8 0x42, 0xa9
    out8 0x42, 0x04
6:  inb $0x61, %al
    testb $0x20, %al
    jz 6b
    say 'T'
    jmp quit

fail:
    say 'X'
quit:
    out8 0x501, 0
7:  cli
    hlt
    jmp 7b

pic_tick:
    incl ticks
    pushl %eax
    movb $0x20, %al
    outb %al, $0x20
    popl %eax
    return

apic_tick:
    incl ticks
    movl $0, LAPIC + 0xb0
    return

serial:
    pushl %eax
    pushl %edx
    incl ticks
    cmpl $3, ticks
    jb 8f
    movl $0x3fa, %edx
    inb %dx, %al
8:  movl $0, LAPIC + 0xb0
    popl %edx
    popl %eax
spurious:
    return

idtr:
    .word 0x7ff
    .long IDT
ticks:
    .long 0
return_to:
    .long 0
