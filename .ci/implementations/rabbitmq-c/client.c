#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <pthread.h>

#include "peer.h"

static amqp_connection_state_t client;
static amqp_bytes_t queue;

static void check(int failed)
{
	if (failed) {
		fprintf(stderr, "an operation failed\n");
		exit(1);
	}
}

static void answered(void)
{
	check(amqp_get_rpc_reply(client).reply_type != AMQP_RESPONSE_NORMAL);
}

static void declare(void)
{
	amqp_queue_declare(client, 1, queue, 0, 0, 0, 0, amqp_empty_table);
	answered();
}

static void publish(const void *payload, int bytes)
{
	amqp_bytes_t body = {bytes, (void *)payload};
	check(amqp_basic_publish(client, 1, amqp_empty_bytes, queue, 0, 0, NULL, body));
}

static void flush(void)
{
	// The broker answers in order.
	declare();
}

static void *read_all(void *unused)
{
	amqp_envelope_t envelope;

	while (amqp_consume_message(client, &envelope, NULL, 0).reply_type ==
	       AMQP_RESPONSE_NORMAL) {
		check(amqp_basic_ack(client, 1, envelope.delivery_tag, 0));
		amqp_destroy_envelope(&envelope);
		take();
	}
	return NULL;
}

static void subscribe(void)
{
	pthread_t thread;
	amqp_basic_consume(client, 1, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
	answered();
	pthread_create(&thread, NULL, read_all, NULL);
}

int main(int count, char **words)
{
	queue = amqp_cstring_bytes("truth");
	client = amqp_new_connection();
	check(amqp_socket_open(amqp_tcp_socket_new(client), "127.0.0.1", number("PORT", 0)));
	check(amqp_login(client, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest")
		      .reply_type != AMQP_RESPONSE_NORMAL);
	amqp_channel_open(client, 1);
	answered();
	declare();
	run(words[1]);
}
