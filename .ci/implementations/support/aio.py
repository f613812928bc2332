"""For libraries that need an event loop: it has a thread of its own."""

import asyncio
import threading


class Loop:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def wait(self, work, limit=60):
        return self.begin(work).result(limit)

    def begin(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop)
