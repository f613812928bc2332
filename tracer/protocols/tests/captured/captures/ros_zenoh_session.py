"""Two nodes of pyzeros, which speaks as `rmw_zenoh` does, and the router between them; prints what was sent and got."""

import asyncio
import json

import asyncio_for_robotics
import pyzeros
import zenoh
from ros2_pyterfaces.cyclone.all_msgs import String

ADDRESS, MESSAGES = "tcp/127.0.0.1:7447", 20


def session(mode, key):
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", "[]")
    config.insert_json5(key, json.dumps([ADDRESS]))
    return zenoh.open(config)


@asyncio_for_robotics.scoped
async def talk(ready):
    publisher = pyzeros.Pub(String, "chatter")
    await ready.wait()
    for number in range(MESSAGES):
        publisher.publish(String(data=f"hello {number}"))
        await asyncio.sleep(0.01)


@asyncio_for_robotics.scoped
async def listen(ready):
    subscription, got = pyzeros.Sub(String, "chatter"), 0
    asyncio.get_running_loop().call_later(1, ready.set)
    async for _ in subscription.listen_reliable():
        got += 1
        if got == MESSAGES:
            return got


async def main():
    ready = asyncio.Event()

    async def node(name, run):
        with pyzeros.auto_context(node=name, namespace="/demo", zenoh_session=session("client", "connect/endpoints")):
            return await run(ready)

    _, got = await asyncio.wait_for(asyncio.gather(node("talker", talk), node("listener", listen)), 20)
    print("sent", "got", sep="\t")
    print(MESSAGES, got, sep="\t")


router = session("router", "listen/endpoints")
asyncio.run(main())
router.close()
