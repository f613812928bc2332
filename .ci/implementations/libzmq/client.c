#include <pthread.h>
#include <zmq.h>

#include "peer.h"

static void *sock;

static void check(int failed)
{
	if (failed) {
		fprintf(stderr, "%s\n", zmq_strerror(zmq_errno()));
		exit(1);
	}
}

static void publish(const void *payload, int bytes)
{
	static int is_subscribed;
	char subscription[16];
	// A subscription comes as a message.
	if (!is_subscribed)
		is_subscribed = zmq_recv(sock, subscription, sizeof subscription, 0) > 0;
	check(zmq_send(sock, payload, bytes, 0) < 0);
}

static void flush(void)
{
}

static void *read_all(void *unused)
{
	char payload[1 << 16];
	while (zmq_recv(sock, payload, sizeof payload, 0) >= 0)
		take();
	return NULL;
}

static void subscribe(void)
{
	pthread_t thread;
	check(zmq_setsockopt(sock, ZMQ_SUBSCRIBE, "", 0));
	pthread_create(&thread, NULL, read_all, NULL);
}

int main(int count, char **words)
{
	char address[64];
	int publishes = !strcmp(words[1], "pub");
	snprintf(address, sizeof address, "tcp://127.0.0.1:%s", getenv("PORT"));
	sock = zmq_socket(zmq_ctx_new(), publishes ? ZMQ_XPUB : ZMQ_SUB);
	check(publishes ? zmq_bind(sock, address) : zmq_connect(sock, address));
	run(words[1]);
}
