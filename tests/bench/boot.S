/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PVH entry: 32-bit protected mode, paging off, ebx -> hvm_start_info.
 * Builds an identity map of 4 GiB (2 MiB pages, user bit set), enters long
 * mode at CPL 0, calls guest_setup(), then drops to CPL 3 for guest_run(). */
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
    movl $stack_top, %esp
    movl %ebx, start_info
    /* PML4[0] -> PDPT ; PDPT[0..3] -> PD0..PD3 */
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
    andl $~0x4, %eax
    orl  $0x80000003, %eax
    movl %eax, %cr0
    lgdt gdtr
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
    movl $stack_top, %esp
    movl $0x28, %eax
    ltr  %ax
    /* every vector leads to back0; gate DPL 3 */
    leaq idt(%rip), %rdi
    leaq back0(%rip), %rax
    movl $256, %ecx
5:  movw %ax, (%rdi)
    movw $0x08, 2(%rdi)
    movw $0xee00, 4(%rdi)
    movl %eax, %edx
    shrl $16, %edx
    movw %dx, 6(%rdi)
    movl $0, 8(%rdi)
    movl $0, 12(%rdi)
    addq $16, %rdi
    decl %ecx
    jnz 5b
    lidt idtr(%rip)
    leaq stack_top(%rip), %rax
    movq %rax, tss+4(%rip)
    movl start_info(%rip), %edi
    call guest_setup
    /* iretq to CPL 3 with IOPL 3 */
    pushq $0x20|3
    pushq $stack3_top
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
    call guest_run
    movl $1, %eax
    int $0x80                  /* back to CPL 0: guest_report() */
3:  pause
    jmp 3b
    .globl back0
back0:
    movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    leaq stack_top(%rip), %rsp
    call guest_report
4:  hlt
    jmp 4b

    .section .data
    .align 16
gdt:
    .quad 0
    .quad 0x00af9b000000ffff   /* 0x08 code64 dpl0 */
    .quad 0x00cf93000000ffff   /* 0x10 data dpl0 */
    .quad 0x00affb000000ffff   /* 0x18 code64 dpl3 */
    .quad 0x00cff3000000ffff   /* 0x20 data dpl3 */
    .quad 0x0000890000000067 | ((TSSADDR & 0xffffff) << 16) /* 0x28 tss low */
    .quad 0
gdtr:
    .word 55
    .quad gdt
start_info: .long 0
idtr:
    .word 4095
    .quad idt
    .section .tss, "aw", @progbits
tss:
    .zero 4096

    .section .bss
    .align 4096
idt: .skip 4096
pml4: .skip 4096
pdpt: .skip 4096
pd:   .skip 4096*4
stack: .skip 16384
stack_top:
stack3: .skip 65536
stack3_top:
