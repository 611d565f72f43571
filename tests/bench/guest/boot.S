/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start of the bare guest. PVH entry for the first processor (32-bit protected mode, paging off,
 * ebx -> hvm_start_info), a trampoline in real mode for the others. Each one gets an identity map of
 * 4 GiB open to user mode, enters long mode and goes straight on at CPL 3 with IOPL 3: hosts that
 * emulate kernel mode run everything that follows at native speed. */
    .set MAX_CPUS, 16
    .set STACK0, 4096
    .set STACK3, 32768
    .set TSS_SIZE, 104 + 8192 + 8

    .section .note.pvh, "a", @note
    .long 4, 4, 18
    .asciz "Xen"
    .long start32

    .section .text
    .code32
    .globl start32
start32:
    cli
    cld
    /* An empty line: whoever listens knows when the first instructions ran. */
    movl $0x3f8, %edx
    movb $'\n', %al
    outb %al, %dx
    movl %ebx, start_info
    /* PML4[0] -> PDPT; PDPT[0..3] -> four page directories of 2 MiB pages */
    movl $pdpt, %eax
    orl  $7, %eax
    movl %eax, pml4
    movl $pd, %eax
    orl  $7, %eax
    movl $pdpt, %edi
    movl $4, %ecx
1:  movl %eax, (%edi)
    addl $4096, %eax
    addl $8, %edi
    loop 1b
    movl $pd, %edi
    movl $0x87, %eax
    movl $2048, %ecx
2:  movl %eax, (%edi)
    addl $0x200000, %eax
    addl $8, %edi
    loop 2b
    lgdt gdtr
    jmp  long_mode

    /* Real mode; copied to a page below 1 MiB, cs = that page >> 4, ip = 0. */
    .code16
    .globl ap_trampoline, ap_trampoline_end
ap_trampoline:
    cli
    cld
    movw %cs, %ax
    movw %ax, %ds
    lgdtl ap_gdtr - ap_trampoline
    movl %cr0, %eax
    orl  $1, %eax
    movl %eax, %cr0
    ljmpl $0x28, $ap32
ap_gdtr:
    .word gdt_end - gdt - 1
    .long gdt
ap_trampoline_end:

    .code32
ap32:
    movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
long_mode:
    movl $pml4, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl  $0x620, %eax          /* PAE, OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
    movl $0xc0000080, %ecx
    rdmsr
    orl  $0x100, %eax          /* LME */
    wrmsr
    movl %cr0, %eax
    andl $~0x60000004, %eax    /* EM off, caches on */
    orl  $0x80000003, %eax
    movl %eax, %cr0
    ljmp $0x08, $start64

    .code64
start64:
    movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movl $1, %ebx
    lock xaddl %ebx, cpus_started
    cmpl $MAX_CPUS, %ebx
    jae  parked
    /* ebx: this processor's number. Its TSS descriptor is 0x30 + 16 * number. */
    movl %ebx, %eax
    imull $STACK0, %eax
    leaq stacks0 + STACK0(%rax), %rsp
    movl %ebx, %edi
    imull $TSS_SIZE, %edi
    addl $tss, %edi
    movq %rsp, 4(%rdi)
    movw $104, 102(%rdi)       /* all ports are open: zeros up to the end mark */
    movb $0xff, 104 + 8192(%rdi)
    movl %ebx, %esi
    shll $4, %esi
    movl %edi, %eax
    shll $16, %eax
    orl  $104 + 8192, %eax
    movl %eax, gdt + 0x30(%rsi)
    movl %edi, %eax
    shrl $16, %eax
    andl $0xff, %eax
    orl  $0x8900, %eax
    movl %eax, gdt + 0x34(%rsi)
    movq $0, gdt + 0x38(%rsi)
    leal 0x30(%rsi), %eax
    ltr  %ax
    testl %ebx, %ebx
    jnz  8f
    /* Every vector leads to the same place; gates of DPL 3. */
    leaq idt(%rip), %rdi
    leaq back0(%rip), %rax
    movl $256, %ecx
5:  movw %ax, (%rdi)
    movw $0x08, 2(%rdi)
    movw $0xee00, 4(%rdi)
    movl %eax, %edx
    shrl $16, %edx
    movw %dx, 6(%rdi)
    addq $16, %rdi
    decl %ecx
    jnz 5b
    call kernel_setup
8:  lidt idtr(%rip)
    /* iretq to CPL 3, IOPL 3, interrupts off */
    movl %ebx, %edi
    movl %ebx, %eax
    imull $STACK3, %eax
    leaq stacks3 + STACK3(%rax), %rax
    pushq $0x20|3
    pushq %rax
    pushq $0x3002
    pushq $0x18|3
    leaq  start3(%rip), %rax
    pushq %rax
    movl $0x20|3, %eax
    movl %eax, %ds
    movl %eax, %es
    iretq
start3:
    xorl %ebp, %ebp
    movl start_info(%rip), %esi
    call guest_main
    /* A processor with nothing more to do sleeps, which needs CPL 0. An invalid instruction and
     * not an interrupt gets there: hosts that emulate kernel mode may know no "int". */
    .globl park
park:
    ud2

    /* The same way to the interrupt flag: where kernel mode is emulated, CPL 3 may have no right to
     * it in spite of its IOPL. */
    .globl interrupts_on, interrupts_off
interrupts_on:
    ud2
    ret
interrupts_off:
    ud2
    ret
flag_on:
    orq $0x200, 16(%rsp)
    jmp flag_done
flag_off:
    andq $~0x200, 16(%rsp)
flag_done:
    addq $2, (%rsp)
    iretq

    /* An interrupt of the first processor. */
    .globl interrupt0
interrupt0:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    cld
    call interrupt
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    iretq

    /* An exception. */
back0:
    movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    movq %rsp, %rdi
    cmpq $park, (%rsp)
    je   parked
    cmpq $interrupts_on, (%rsp)
    je   flag_on
    cmpq $interrupts_off, (%rsp)
    je   flag_off
    movq %cr2, %rsi
    call guest_trap
parked:
    cli
    hlt
    jmp parked

    .section .data
    .align 16
gdt:
    .quad 0
    .quad 0x00af9b000000ffff   /* 0x08 code64 dpl0 */
    .quad 0x00cf93000000ffff   /* 0x10 data dpl0 */
    .quad 0x00affb000000ffff   /* 0x18 code64 dpl3 */
    .quad 0x00cff3000000ffff   /* 0x20 data dpl3 */
    .quad 0x00cf9b000000ffff   /* 0x28 code32 dpl0 */
    .zero 16 * MAX_CPUS        /* 0x30 one TSS per processor */
gdt_end:
gdtr:
    .word gdt_end - gdt - 1
    .quad gdt
    .align 4
start_info: .long 0
    .globl cpus_started
cpus_started: .long 0
idtr:
    .word 4095
    .quad idt

    .section .bss
    .align 4096
    .globl idt
idt: .skip 4096
pml4: .skip 4096
pdpt: .skip 4096
pd:   .skip 4096*4
tss:  .skip TSS_SIZE * MAX_CPUS
    .align 4096
stacks0: .skip STACK0 * MAX_CPUS
stacks3: .skip STACK3 * MAX_CPUS
