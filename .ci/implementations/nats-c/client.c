#include <nats/nats.h>

#include "peer.h"

static natsConnection *client;

static void check(natsStatus status)
{
	if (status != NATS_OK) {
		fprintf(stderr, "%s\n", natsStatus_GetText(status));
		exit(1);
	}
}

static void publish(const void *payload, int bytes)
{
	check(natsConnection_Publish(client, "truth", payload, bytes));
}

static void flush(void)
{
	check(natsConnection_Flush(client));
}

static void came(natsConnection *from, natsSubscription *subscription, natsMsg *message,
		 void *closure)
{
	take();
	natsMsg_Destroy(message);
}

static void subscribe(void)
{
	natsSubscription *subscription;
	check(natsConnection_Subscribe(&subscription, client, "truth", came, NULL));
	flush();
}

int main(int count, char **words)
{
	char address[64];
	snprintf(address, sizeof address, "nats://127.0.0.1:%s", getenv("PORT"));
	check(natsConnection_ConnectTo(&client, address));
	run(words[1]);
}
