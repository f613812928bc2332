#include <MQTTAsync.h>
#include <semaphore.h>

#include "peer.h"

#define TOPIC "truth"

static MQTTAsync client;
static sem_t over;

static void succeeded(void *context, MQTTAsync_successData *data)
{
	sem_post(&over);
}

static void failed(void *context, MQTTAsync_failureData *data)
{
	fprintf(stderr, "failed: %d\n", data->code);
	exit(1);
}

static int arrived(void *context, char *topic, int length, MQTTAsync_message *message)
{
	take();
	MQTTAsync_freeMessage(&message);
	MQTTAsync_free(topic);
	return 1;
}

static void check(int code)
{
	if (code) {
		fprintf(stderr, "error %d\n", code);
		exit(1);
	}
}

static int sent;

static void publish(const void *payload, int bytes)
{
	MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
	options.onSuccess = succeeded;
	options.onFailure = failed;
	check(MQTTAsync_send(client, TOPIC, bytes, payload, number("QOS", 0), 0, &options));
	sent++;
}

static void flush(void)
{
	for (; sent; sent--)
		sem_wait(&over);
}

static void subscribe(void)
{
	MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
	options.onSuccess = succeeded;
	options.onFailure = failed;
	check(MQTTAsync_subscribe(client, TOPIC, number("QOS", 0), &options));
	sem_wait(&over);
}

int main(int count, char **words)
{
	char address[64];
	snprintf(address, sizeof address, "tcp://127.0.0.1:%s", getenv("PORT"));
	check(MQTTAsync_create(&client, address, words[1], MQTTCLIENT_PERSISTENCE_NONE, NULL));
	check(MQTTAsync_setCallbacks(client, NULL, NULL, arrived, NULL));
	sem_init(&over, 0, 0);
	MQTTAsync_connectOptions options = MQTTAsync_connectOptions_initializer;
	options.onSuccess = succeeded;
	options.onFailure = failed;
	options.maxInflight = 1000;
	check(MQTTAsync_connect(client, &options));
	sem_wait(&over);
	run(words[1]);
}
