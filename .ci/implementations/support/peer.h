// What clients in C share; see peer.py. A client has publish, flush and subscribe, and calls take for each message.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int received;

static int number(const char *name, int other)
{
	const char *value = getenv(name);
	return value ? atoi(value) : other;
}

static void take(void)
{
	if (atomic_fetch_add(&received, 1) + 1 == number("MESSAGES", 300)) {
		puts("all");
		fflush(stdout);
	}
}

static void publish(const void *payload, int bytes);
static void flush(void);
static void subscribe(void);

static void run(const char *role)
{
	char line[16], payload[1 << 16];
	int messages = number("MESSAGES", 300), rate = number("RATE", 200),
	    bytes = number("PAYLOAD", 64);
	if (!strcmp(role, "sub"))
		subscribe();
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(1);
	if (!strcmp(role, "sub")) {
		printf("done {\"received\": %d}\n", atomic_load(&received));
		fflush(stdout);
		_Exit(0);
	}
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	memset(payload, '.', sizeof payload);
	for (int count = 0; count < messages; count++) {
		char head[16];
		snprintf(head, sizeof head, "%08d", count);
		if (!number("EQUAL", 0))
			memcpy(payload, head, 8);
		publish(payload, bytes);
		at.tv_nsec += 1000000000 / rate;
		if (at.tv_nsec >= 1000000000) {
			at.tv_sec++;
			at.tv_nsec -= 1000000000;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
	flush();
	printf("done {\"sent\": %d}\n", messages);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(1);
}
