/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes at the entry of the functions of libraries that write plain text into TLS. */

/* The registers of the traced program, as the kernel shows them to uprobes (arch/x86, arch/arm64: asm/ptrace.h). */
const volatile __u8 regs_are_arm64 = 0;

struct regs_x86 {
	__u64 r15;
	__u64 r14;
	__u64 unused[3];
	__u64 bx;
	__u64 unused2[5];
	__u64 cx;
	__u64 dx;
	__u64 si;
	__u64 di;
};

struct regs_arm64 {
	__u64 x[29];
};

/* int SSL_write(SSL *ssl, const void *buf, int num); the other libraries' functions have a size_t in its place. */
SEC("uprobe")
int tls_write_c(void *ctx)
{
	if (regs_are_arm64)
		return begin_tls_write(this_thread(), ((struct regs_arm64 *)ctx)->x[1],
				       ((struct regs_arm64 *)ctx)->x[2]);
	return begin_tls_write(this_thread(), ((struct regs_x86 *)ctx)->si,
			       ((struct regs_x86 *)ctx)->dx);
}

/* func (c *tls.Conn) Write(b []byte), in Go's own calling convention (since 1.17), in which a register has the goroutine's g. */
SEC("uprobe")
int tls_write_go(void *ctx)
{
	struct tls_writer id = this_thread();

	if (regs_are_arm64) {
		id.who = ((struct regs_arm64 *)ctx)->x[28];
		return begin_tls_write(id, ((struct regs_arm64 *)ctx)->x[1],
				       ((struct regs_arm64 *)ctx)->x[2]);
	}
	id.who = ((struct regs_x86 *)ctx)->r14;
	return begin_tls_write(id, ((struct regs_x86 *)ctx)->bx, ((struct regs_x86 *)ctx)->cx);
}
