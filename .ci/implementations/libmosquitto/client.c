#include <mosquitto.h>
#include <semaphore.h>

#include "peer.h"

static struct mosquitto *client;
static sem_t over;
static int sent;

static void check(int code)
{
	if (code != MOSQ_ERR_SUCCESS) {
		fprintf(stderr, "%s\n", mosquitto_strerror(code));
		exit(1);
	}
}

static void connected(struct mosquitto *from, void *data, int code)
{
	sem_post(&over);
}

static void published(struct mosquitto *from, void *data, int message)
{
	sem_post(&over);
}

static void subscribed(struct mosquitto *from, void *data, int message, int count, const int *qos)
{
	sem_post(&over);
}

static void came(struct mosquitto *from, void *data, const struct mosquitto_message *message)
{
	take();
}

static void publish(const void *payload, int bytes)
{
	check(mosquitto_publish(client, NULL, "truth", bytes, payload, number("QOS", 0), false));
	sent++;
}

static void flush(void)
{
	for (; sent; sent--)
		sem_wait(&over);
}

static void subscribe(void)
{
	check(mosquitto_subscribe(client, NULL, "truth", number("QOS", 0)));
	sem_wait(&over);
}

int main(int count, char **words)
{
	sem_init(&over, 0, 0);
	mosquitto_lib_init();
	client = mosquitto_new(NULL, true, NULL);
	mosquitto_connect_callback_set(client, connected);
	mosquitto_publish_callback_set(client, published);
	mosquitto_subscribe_callback_set(client, subscribed);
	mosquitto_message_callback_set(client, came);
	check(mosquitto_connect(client, "127.0.0.1", number("PORT", 0), 60));
	check(mosquitto_loop_start(client));
	sem_wait(&over);
	run(words[1]);
}
