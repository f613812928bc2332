// mark [SECONDS]: in a guest, five times a second, prints the guest's time and the least and the largest that its clock may be ahead of the host's.
// mark FILE:      on the host, answers; FILE is the memory that both share.
// For `truth.py`. All times are CLOCK_MONOTONIC in ns. A guest writes its time into the memory, the host beside it its own, and the guest looks at its clock again: that takes
// a microsecond or two while both run.
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 300

struct shared {
	_Alignas(64) int64_t asks;
	_Alignas(64) int64_t guest;
	_Alignas(64) int64_t host;
	int64_t seen;
};

#define READ(field) __atomic_load_n(&(field), __ATOMIC_SEQ_CST)
#define WRITE(field, value) __atomic_store_n(&(field), value, __ATOMIC_SEQ_CST)

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

// While a guest asks: after each time of the guest, the host's time and which it was.
static void answer(struct shared *shared)
{
	int64_t last = 0;
	for (;; wait_ms(2)) {
		int64_t limit = now() + 20000000;
		while (READ(shared->asks)) {
			int64_t guest = READ(shared->guest), host = now();
			if (guest != last) {
				WRITE(shared->host, host);
				WRITE(shared->seen, guest);
				last = guest;
			} else if (host > limit) {
				// The guest does not run at present.
				break;
			}
		}
	}
}

static void ask(struct shared *shared, int64_t end)
{
	for (; now() < end; wait_ms(200)) {
		int64_t least = 0, largest = INT64_MAX, at = 0, limit = now() + 50000000;
		WRITE(shared->asks, 1);
		for (int round = 0; round < ROUNDS && now() < limit; round++) {
			int64_t before = now(), host, after;
			WRITE(shared->guest, before);
			do {
				after = now();
			} while (READ(shared->seen) != before && after < limit);
			if (after >= limit)
				break;
			host = READ(shared->host);
			after = now();
			if (after - before < largest - least) {
				least = before - host;
				largest = after - host;
				at = before;
			}
		}
		WRITE(shared->asks, 0);
		if (at)
			printf("%lld %lld %lld\n", (long long)at, (long long)least, (long long)largest);
	}
}

int main(int argc, char **argv)
{
	glob_t found;
	int is_host = argc > 1 && argv[1][0] == '/';
	// The memory is the second resource of the device 1af4:1110; those of the network are smaller devices.
	const char *file = is_host ? argv[1] : NULL;
	if (!file && !glob("/sys/bus/pci/devices/*/resource2_wc", 0, NULL, &found) && found.gl_pathc == 1)
		file = found.gl_pathv[0];
	int memory = file ? open(file, O_RDWR) : -1;
	struct shared *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (shared == MAP_FAILED)
		return perror("mark: the shared memory"), 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_host)
		answer(shared);
	ask(shared, now() + (argc > 1 ? atoll(argv[1]) : 86400) * 1000000000LL);
	return 0;
}
