"""What watches a row: wirelap, live or from a capture, and tcpdump."""

import json
import queue
import signal
import subprocess
import threading
import time

from library import LAST_BYTES, Fault

# The longest that a watcher is silent, or takes to end.
LIMIT_S = 120


class Lines:
    """The lines of a program that runs, each waited for with a limit."""

    def __init__(self, name, words, errors=None, **options):
        self.name = name
        stream = "stderr" if errors is None else "stdout"
        self.process = subprocess.Popen(
            list(map(str, words)), text=True, stdin=subprocess.PIPE, **{stream: subprocess.PIPE},
            **({"stderr": errors} if errors else {"stdout": subprocess.DEVNULL}), **options,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=[getattr(self.process, stream)], daemon=True).start()

    def read(self, stream):
        for line in stream:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self, limit=LIMIT_S):
        try:
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            raise Fault(f"{self.name} was silent for {limit} s") from None
        if line is None:
            raise Fault(f"{self.name} ended early")
        return line

    def until(self, is_wanted):
        while True:
            line = self.line()
            if is_wanted(line):
                return line

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Fault(f"{self.name} did not end within {LIMIT_S} s") from None

    def kill(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Live:
    """`wirelap live` of a process and its children. Attached once this is made."""

    def __init__(self, wirelap, pid, folder):
        self.json, self.complaints = folder / "live.json", folder / "live.err"
        # All of the time is traced: in windows, counts are those of the windows.
        words = [wirelap, "live", "--plain", "--sample", "off", "--by", "topic", "--top", 1000, "--pid", pid, "--force", "--json", self.json]
        self.lines = Lines("wirelap live", words, errors=self.complaints.open("w"))
        try:
            # A block of lines is whole.
            self.lines.until(lambda line: line == "")
        except Fault as fault:
            self.lines.kill()
            raise Fault(f"{fault}: {self.complaints.read_text()[-1000:]}") from None

    def end(self):
        self.lines.end()
        if not self.json.is_file():
            raise Fault(f"wirelap live wrote nothing: {self.complaints.read_text()[-1000:]}")
        return json.loads(self.json.read_text())


class Capture:
    """tcpdump in the network namespace of a process."""

    def __init__(self, pid, file):
        self.file = file
        # Each packet takes so many bytes of the buffer as the longest has.
        words = ["tcpdump", "--immediate-mode", "-U", "-B", "131072", "-s", "70000", "-i", "lo", "-Z", "root", "-w", file]
        self.lines = Lines("tcpdump", ["nsenter", "--net", "--target", pid, *words])
        self.lines.until(lambda line: "listening on" in line)

    def end(self):
        """Ends once the last packet that the stage sent is in the file."""
        deadline = time.monotonic() + LIMIT_S
        while LAST_BYTES not in self.tail():
            if time.monotonic() > deadline:
                raise Fault("tcpdump did not write the last packet")
            time.sleep(0.02)
        self.lines.end()
        said = []
        while not self.lines.lines.empty():
            said.append(self.lines.lines.get() or "")
        dropped = [line for line in said if "dropped by kernel" in line and not line.startswith("0 ")]
        if dropped:
            raise Fault(f"tcpdump: {dropped[0]}")

    def tail(self):
        with self.file.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 65536))
            return file.read()


def analyze(wirelap, capture):
    words = [wirelap, "analyze", capture, "--by", "topic", "--top", "1000", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise Fault(f"wirelap analyze: {done.stderr[-1000:]}")
    return json.loads(done.stdout)
