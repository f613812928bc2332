/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes at the functions of libraries that write plain text into TLS, and read it from there. */

/* The registers of the traced program, as the kernel shows them to uprobes (arch/x86, arch/arm64: asm/ptrace.h). */
const volatile __u8 regs_are_arm64 = 0;

struct regs_x86 {
	__u64 r15;
	__u64 r14;
	__u64 unused[3];
	__u64 bx;
	__u64 unused2[4];
	__u64 ax;
	__u64 cx;
	__u64 dx;
	__u64 si;
	__u64 di;
	__u64 unused3[4];
	__u64 sp;
};

struct regs_arm64 {
	__u64 x[31];
	__u64 sp;
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

/* int SSL_read(SSL *ssl, void *buf, int num); gnutls_record_recv() begins with the same arguments. */
SEC("uprobe")
int tls_read_c(void *ctx)
{
	struct tls_read read = {};

	if (regs_are_arm64) {
		read.session = ((struct regs_arm64 *)ctx)->x[0];
		read.to = ((struct regs_arm64 *)ctx)->x[1];
		return begin_tls_read_c(((struct regs_arm64 *)ctx)->sp, &read);
	}
	read.session = ((struct regs_x86 *)ctx)->di;
	read.to = ((struct regs_x86 *)ctx)->si;
	return begin_tls_read_c(((struct regs_x86 *)ctx)->sp, &read);
}

/* int SSL_read_ex(SSL *ssl, void *buf, size_t num, size_t *readbytes) */
SEC("uprobe")
int tls_read_ex_c(void *ctx)
{
	struct tls_read read = {};

	if (regs_are_arm64) {
		read.session = ((struct regs_arm64 *)ctx)->x[0];
		read.to = ((struct regs_arm64 *)ctx)->x[1];
		read.len_at = ((struct regs_arm64 *)ctx)->x[3];
		return begin_tls_read_c(((struct regs_arm64 *)ctx)->sp, &read);
	}
	read.session = ((struct regs_x86 *)ctx)->di;
	read.to = ((struct regs_x86 *)ctx)->si;
	read.len_at = ((struct regs_x86 *)ctx)->cx;
	return begin_tls_read_c(((struct regs_x86 *)ctx)->sp, &read);
}

/* The returns of these functions. */
SEC("uprobe")
int tls_read_done_c(void *ctx)
{
	struct tls_writer id = this_thread();

	if (regs_are_arm64) {
		id.who = ((struct regs_arm64 *)ctx)->sp;
		return end_tls_read(id, ((struct regs_arm64 *)ctx)->x[0]);
	}
	id.who = ((struct regs_x86 *)ctx)->sp;
	return end_tls_read(id, ((struct regs_x86 *)ctx)->ax);
}

/* func (c *tls.Conn) Read(b []byte) (int, error) */
SEC("uprobe")
int tls_read_go(void *ctx)
{
	struct tls_writer id = this_thread();
	struct tls_read read = {.ahead = 1};

	if (regs_are_arm64) {
		id.who = ((struct regs_arm64 *)ctx)->x[28];
		read.session = ((struct regs_arm64 *)ctx)->x[0];
		read.to = ((struct regs_arm64 *)ctx)->x[1];
		return begin_tls_read(id, &read);
	}
	id.who = ((struct regs_x86 *)ctx)->r14;
	read.session = ((struct regs_x86 *)ctx)->ax;
	read.to = ((struct regs_x86 *)ctx)->bx;
	return begin_tls_read(id, &read);
}

/* Its returns. */
SEC("uprobe")
int tls_read_done_go(void *ctx)
{
	struct tls_writer id = this_thread();

	if (regs_are_arm64) {
		id.who = ((struct regs_arm64 *)ctx)->x[28];
		return end_tls_read(id, ((struct regs_arm64 *)ctx)->x[0]);
	}
	id.who = ((struct regs_x86 *)ctx)->r14;
	return end_tls_read(id, ((struct regs_x86 *)ctx)->ax);
}

/* <rustls::…::ConnectionCommon as …::PlaintextSink>::write(&mut self, buf: &[u8]) -> io::Result<usize>, which a Writer calls */
SEC("uprobe")
int tls_write_rust(void *ctx)
{
	if (regs_are_arm64)
		return begin_rustls_write(((struct regs_arm64 *)ctx)->x[0],
					  ((struct regs_arm64 *)ctx)->x[1],
					  ((struct regs_arm64 *)ctx)->x[2], 0);
	return begin_rustls_write(((struct regs_x86 *)ctx)->di, ((struct regs_x86 *)ctx)->si,
				  ((struct regs_x86 *)ctx)->dx, 0);
}

/* The same with parts: bufs: &[IoSlice]. */
SEC("uprobe")
int tls_write_parts_rust(void *ctx)
{
	if (regs_are_arm64)
		return begin_rustls_write(((struct regs_arm64 *)ctx)->x[0],
					  ((struct regs_arm64 *)ctx)->x[1], 0,
					  ((struct regs_arm64 *)ctx)->x[2]);
	return begin_rustls_write(((struct regs_x86 *)ctx)->di, ((struct regs_x86 *)ctx)->si, 0,
				  ((struct regs_x86 *)ctx)->dx);
}

/* Their returns: 0, and the bytes that were taken; or 1, and the error. */
SEC("uprobe")
int tls_write_done_rust(void *ctx)
{
	if (regs_are_arm64)
		return end_rustls_write(((struct regs_arm64 *)ctx)->x[0] & 1,
					((struct regs_arm64 *)ctx)->x[1]);
	return end_rustls_write(((struct regs_x86 *)ctx)->ax & 1, ((struct regs_x86 *)ctx)->dx);
}
