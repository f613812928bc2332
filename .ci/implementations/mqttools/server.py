import asyncio
import os

import mqttools

asyncio.run(mqttools.Broker(("127.0.0.1", int(os.environ["PORT"]))).serve_forever())
