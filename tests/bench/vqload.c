/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A poll-mode virtio-blk load generator that runs as a bare guest.
 * CPL 0 does PCI and virtio set-up; the I/O loop runs at CPL 3, so that hosts
 * which emulate guest kernel mode still run the loop at native speed.
 * Command line: q=<queues> d=<depth> t=<seconds> bs=<bytes> rw=r|w
 *               tsc=<MHz> ev=0|1 seq=0|1 n=<devices> */
#include <stdint.h>
#include <stddef.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

static inline void outb(u16 p, u8 v)
{
    asm volatile("outb %0,%1" ::"a"(v), "Nd"(p));
}
static inline u8 inb(u16 p)
{
    u8 v;
    asm volatile("inb %1,%0" : "=a"(v) : "Nd"(p));
    return v;
}
static inline void outl(u16 p, u32 v)
{
    asm volatile("outl %0,%1" ::"a"(v), "Nd"(p));
}
static inline u32 inl(u16 p)
{
    u32 v;
    asm volatile("inl %1,%0" : "=a"(v) : "Nd"(p));
    return v;
}
static inline u64 rdtsc(void)
{
    u32 a, d;
    asm volatile("rdtsc" : "=a"(a), "=d"(d));
    return ((u64)d << 32) | a;
}
#define barrier() asm volatile("" ::: "memory")
#define mb()      asm volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc")

static void putc_(char c)
{
    outb(0x3f8, c);
}
static void puts_(const char *s)
{
    while (*s) {
        if (*s == '\n')
            putc_('\r');
        putc_(*s++);
    }
}
static void putu(u64 v)
{
    char b[24];
    int i = 23;
    b[i] = 0;
    do {
        b[--i] = '0' + v % 10;
        v /= 10;
    } while (v);
    puts_(b + i);
}
void *memset(void *d, int c, size_t n)
{
    u8 *p = d;
    while (n--)
        *p++ = c;
    return d;
}

static u32 cfg_r(u32 bdf, u32 off)
{
    outl(0xcf8, 0x80000000u | (bdf << 8) | (off & 0xfc));
    return inl(0xcfc);
}
static void cfg_w(u32 bdf, u32 off, u32 v)
{
    outl(0xcf8, 0x80000000u | (bdf << 8) | (off & 0xfc));
    outl(0xcfc, v);
}
static u8 cfg_r8(u32 bdf, u32 off)
{
    return cfg_r(bdf, off) >> ((off & 3) * 8);
}

#define MAXQ 64
#define QSZ  256
struct desc {
    u64 addr;
    u32 len;
    u16 flags, next;
};
struct vq {
    struct desc *d;
    u16 *avail;
    u16 *used; /* flags, idx, ring.. */
    volatile u16 *notify;
    u16 last_used, avail_idx;
    u16 size, depth;
    u64 ios, kicks, errs, batches;
    u64 rnd;
    u64 span;
    u64 next;
    u16 qidx;
};
static struct vq vqs[MAXQ];
static int nvq;
static u32 o_q = 1, o_d = 32, o_t = 3, o_bs = 4096, o_w, o_tsc = 2596, o_ev = 1, o_seq, o_n = 1;
static u64 heap = 0x4000000; /* 64 MiB up */
static void *alloc(u64 n, u64 al)
{
    heap = (heap + al - 1) & ~(al - 1);
    void *p = (void *)heap;
    heap += n;
    memset(p, 0, n);
    return p;
}
static u32 next_bar = 0xd0000000;

struct req {
    struct {
        u32 type, ioprio;
        u64 sector;
    } h;
    u8 status;
    u8 pad[15];
};

static void fail(const char *s)
{
    puts_("FAIL ");
    puts_(s);
    puts_("\nDONE\n");
    outl(0xf4, 1);
    for (;;)
        ;
}

static int init_dev(u32 bdf)
{
    volatile u8 *common = 0, *notify = 0, *devcfg = 0;
    u32 mult = 0;
    u32 bars[6] = { 0 };
    cfg_w(bdf, 4, cfg_r(bdf, 4) & ~7u);
    for (int b = 0; b < 6; b++) {
        u32 old = cfg_r(bdf, 0x10 + b * 4);
        if (old & 1)
            continue;
        cfg_w(bdf, 0x10 + b * 4, 0xffffffff);
        u32 m = cfg_r(bdf, 0x10 + b * 4);
        if (!(m & ~0xfu))
            continue;
        u32 sz = ~(m & ~0xfu) + 1;
        if (sz < 4096)
            sz = 4096;
        next_bar = (next_bar + sz - 1) & ~(sz - 1);
        cfg_w(bdf, 0x10 + b * 4, next_bar);
        bars[b] = next_bar;
        next_bar += sz;
        if ((m & 6) == 4) {
            b++;
            cfg_w(bdf, 0x10 + b * 4, 0);
        }
    }
    cfg_w(bdf, 4, cfg_r(bdf, 4) | 6);
    for (u8 p = cfg_r8(bdf, 0x34); p; p = cfg_r8(bdf, p + 1)) {
        if (cfg_r8(bdf, p) != 9)
            continue;
        u8 t = cfg_r8(bdf, p + 3), b = cfg_r8(bdf, p + 4);
        u32 off = cfg_r(bdf, p + 8);
        if (t < 1 || t > 4 || b > 5 || !bars[b])
            continue;
        volatile u8 *a = (volatile u8 *)(u64)(bars[b] + off);
        if (t == 1)
            common = a;
        else if (t == 2) {
            notify = a;
            mult = cfg_r(bdf, p + 16);
        } else if (t == 4)
            devcfg = a;
    }
    if (!common || !notify || !devcfg)
        fail("no modern virtio capability");
#define C8(o)  (*(volatile u8 *)(common + (o)))
#define C16(o) (*(volatile u16 *)(common + (o)))
#define C32(o) (*(volatile u32 *)(common + (o)))
    C8(20) = 0;
    while (C8(20))
        ;
    C8(20) = 1;
    C8(20) = 3;
    C32(0) = 0;
    u32 f0 = C32(4);
    C32(0) = 1;
    u32 f1 = C32(4);
    if (!(f1 & 1))
        fail("no VERSION_1");
    u32 want = (1u << 12) | (o_ev ? 1u << 29 : 0);
    if (!o_ev)
        want &= ~(1u << 29);
    o_ev = (want & f0) >> 29 & 1;
    C32(8) = 0;
    C32(12) = f0 & want;
    C32(8) = 1;
    C32(12) = 1;
    C8(20) = 11;
    if (!(C8(20) & 8))
        fail("FEATURES_OK");
    u64 cap = *(volatile u64 *)devcfg;
    u32 nq = f0 & (1u << 12) ? *(volatile u16 *)(devcfg + 34) : 1;
    u32 use = o_q < nq ? o_q : nq;
    for (u32 i = 0; i < nq && i < MAXQ; i++) {
        if (i >= use)
            continue;
        struct vq *v = &vqs[nvq++];
        C16(22) = i;
        u16 sz = C16(24);
        if (sz > QSZ) {
            C16(24) = QSZ;
            sz = QSZ;
        }
        v->size = sz;
        v->qidx = i;
        v->depth = o_d;
        if (v->depth * 3 > sz)
            v->depth = sz / 3;
        v->d = alloc(16 * sz, 4096);
        v->avail = alloc(6 + 2 * sz, 4096);
        v->used = alloc(6 + 8 * sz, 4096);
        C16(26) = 0xffff;
        *(volatile u32 *)(common + 32) = (u64)v->d;
        *(volatile u32 *)(common + 36) = 0;
        *(volatile u32 *)(common + 40) = (u64)v->avail;
        *(volatile u32 *)(common + 44) = 0;
        *(volatile u32 *)(common + 48) = (u64)v->used;
        *(volatile u32 *)(common + 52) = 0;
        v->notify = (volatile u16 *)(notify + C16(30) * mult);
        C16(28) = 1;
        v->span = (cap * 512 / o_bs);
        v->rnd = 88172645463325252ull + i * 7919 + nvq * 104729;
        v->next = i * (v->span / use);
        for (u32 k = 0; k < v->depth; k++) {
            struct req *r = alloc(sizeof *r, 64);
            u8 *buf = alloc(o_bs, 4096);
            r->h.type = o_w;
            if (o_w)
                for (u32 z = 0; z < 64; z++)
                    buf[z] = z ^ k;
            v->d[k * 3] = (struct desc){ (u64)&r->h, 16, 1, k * 3 + 1 };
            v->d[k * 3 + 1] = (struct desc){ (u64)buf, o_bs, 1 | (o_w ? 0 : 2), k * 3 + 2 };
            v->d[k * 3 + 2] = (struct desc){ (u64)&r->status, 1, 2, 0 };
            r->status = 0xff;
        }
        if (o_ev)
            *(volatile u16 *)&v->avail[2 + sz] = 0x8000;
        else
            v->avail[0] = 1;
    }
    C8(20) = 15;
    puts_("dev ");
    putu(bdf);
    puts_(" queues ");
    putu(nq);
    puts_(" used ");
    putu(use);
    puts_(" ev ");
    putu(o_ev);
    puts_(" cap ");
    putu(cap);
    puts_("\n");
    return use;
}

static u32 num(const char *s, const char *k, u32 def)
{
    for (; s && *s; s++) {
        const char *a = s, *b = k;
        while (*b && *a == *b)
            a++, b++;
        if (!*b && *a == '=') {
            u32 v = 0;
            for (a++; *a >= '0' && *a <= '9'; a++)
                v = v * 10 + *a - '0';
            return v;
        }
        while (*s && *s != ' ')
            s++;
        if (!*s)
            break;
    }
    return def;
}

void guest_setup(u32 si)
{
    const char *cmd = (const char *)(u64) * (u64 *)(u64)(si + 24);
    o_q = num(cmd, "q", o_q);
    o_d = num(cmd, "d", o_d);
    o_t = num(cmd, "t", o_t);
    o_bs = num(cmd, "bs", o_bs);
    o_w = num(cmd, "w", 0);
    o_tsc = num(cmd, "tsc", o_tsc);
    o_ev = num(cmd, "ev", 1);
    o_seq = num(cmd, "seq", 0);
    o_n = num(cmd, "n", 8);
    int found = 0;
    for (u32 dev = 0; dev < 32 && found < (int)o_n; dev++) {
        u32 id = cfg_r(dev << 3, 0);
        if (id == 0x10011af4 || id == 0x10421af4) {
            init_dev(dev << 3);
            found++;
        }
    }
    if (!found)
        fail("no virtio-blk device on bus 0");
}

static void submit(struct vq *v, u16 slot)
{
    struct req *r = (struct req *)v->d[slot * 3].addr;
    u64 blk;
    if (o_seq) {
        blk = v->next++;
        if (v->next >= v->span)
            v->next = 0;
    } else {
        v->rnd ^= v->rnd << 13;
        v->rnd ^= v->rnd >> 7;
        v->rnd ^= v->rnd << 17;
        blk = (u64)(((unsigned __int128)v->rnd * v->span) >> 64);
    }
    r->h.sector = blk * (o_bs / 512);
    v->avail[2 + (v->avail_idx & (v->size - 1))] = slot * 3;
    v->avail_idx++;
}
static void kick(struct vq *v, u16 old)
{
    barrier();
    *(volatile u16 *)&v->avail[1] = v->avail_idx;
    mb();
    int need;
    if (o_ev) {
        u16 ev = *(volatile u16 *)((u8 *)v->used + 4 + 8 * v->size);
        need = (u16)(v->avail_idx - ev - 1) < (u16)(v->avail_idx - old);
    } else
        need = !(*(volatile u16 *)v->used & 1);
    if (need) {
        *v->notify = v->qidx;
        v->kicks++;
    }
}

static u64 run_time;
static int stalled;

void guest_run(void)
{
    u64 t0 = rdtsc(), end = t0 + (u64)o_t * o_tsc * 1000000ull, now;
    for (int i = 0; i < nvq; i++) {
        struct vq *v = &vqs[i];
        u16 old = v->avail_idx;
        for (u16 k = 0; k < v->depth; k++)
            submit(v, k);
        kick(v, old);
    }
    u32 spin = 0;
    u64 lastio = t0;
    for (;;) {
        int any = 0;
        for (int i = 0; i < nvq; i++) {
            struct vq *v = &vqs[i];
            u16 idx = *(volatile u16 *)&v->used[1];
            if (idx == v->last_used)
                continue;
            any = 1;
            u16 old = v->avail_idx;
            v->batches++;
            while (v->last_used != idx) {
                u32 id = *(volatile u32 *)((u8 *)v->used + 4 + 8 * (v->last_used & (v->size - 1)));
                struct req *r = (struct req *)v->d[id].addr;
                u8 *st = (u8 *)v->d[id + 2].addr;
                if (*st)
                    v->errs++;
                (void)r;
                *st = 0xff;
                v->ios++;
                v->last_used++;
                submit(v, id / 3);
            }
            kick(v, old);
        }
        if (any || ++spin >= 64) {
            spin = 0;
            now = rdtsc();
            if (any)
                lastio = now;
            if (now >= end)
                break;
            if (now - lastio > (u64)o_tsc * 2000000ull) {
                stalled = 1;
                break;
            }
        }
        asm volatile("pause");
    }
    run_time = rdtsc() - t0;
}

void guest_report(void)
{
    if (!run_time)
        fail("fault in the guest");
    u64 dt = run_time, ios = 0, kicks = 0, errs = 0, b = 0;
    for (int i = 0; i < nvq; i++) {
        ios += vqs[i].ios;
        kicks += vqs[i].kicks;
        errs += vqs[i].errs;
        b += vqs[i].batches;
        puts_("vq ");
        putu(i);
        puts_(" ios ");
        putu(vqs[i].ios);
        puts_("\n");
    }
    if (stalled)
        puts_("STALL\n");
    puts_("RESULT ios ");
    putu(ios);
    puts_(" usec ");
    putu(dt / o_tsc);
    puts_(" iops ");
    putu(ios * 1000000ull / (dt / o_tsc));
    puts_(" kicks ");
    putu(kicks);
    puts_(" batches ");
    putu(b);
    puts_(" errs ");
    putu(errs);
    puts_("\nDONE\n");
    outl(0xf4, 0);
}
