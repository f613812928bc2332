"""What the scripts of the situations share: programs are started and ended, and the runner is talked to.

The runner starts a script in a network namespace of its own and speaks with it in lines:

    script          runner
    hello           the script is there; nothing else runs yet
                    start      (wirelap is attached by now, if it comes first)
    ready           brokers run and clients are connected
                    go         (wirelap is attached by now, in any case)
    look NAME       the state NAME holds now
                    seen       (the screen has been read)
    truth {…}       what the programs themselves counted
                    end        (wirelap has ended)
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# The peers that misbehave as they are told, of the recorded scenarios.
WHY = HERE.parents[3] / "correlate/tests/why/arrange"
# No protocol's own port, so that the bytes have to be recognised.
PORT = 21890
JAVA = ["java", "-Xmx512m", "-cp", os.environ.get("TRUTH_KAFKA", "") + "/*"]
START = 60


def tell(line):
    print(line, flush=True)


def expect(word):
    line = sys.stdin.readline()
    if line.strip() != word:
        sys.exit(f"the runner said {line!r} and not '{word}'")


def until(what, ask, limit=START):
    """Asks until there is an answer."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.02)
    raise TimeoutError(f"{what} did not happen within {limit} s")


def listens(port, host="127.0.0.1"):
    """Whether a socket listens there: read from the kernel, because a trial connection would be traffic."""
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            for line in lines:
                words = line.split()
                if words[1].endswith(wanted) and words[3] == "0A":
                    return True
    return False


def both(asked, answered):
    """What was sent and delivered by two sides that ask and answer: requests and answers are messages alike."""
    counts = answered.end()
    total = counts["received"] + asked["answers"]
    return asked["sent"] + counts["received"], total


def waited(pid):
    """Nanoseconds for which the threads of a process have waited for a CPU, as the kernel counts them (Documentation/scheduler/sched-stats.rst)."""
    total = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(thread.read_text().split()[1])
    return total


def connections(port):
    """Connections of clients to that port. Those of Java are in the second table."""
    rows = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            rows += [line.split() for line in lines]
    return sum(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


class Peer:
    """A client in a process of its own: `peer.py`, which prints `ready`, takes `go` and `end`, and answers with its counts."""

    def __init__(self, lab, *words):
        prefix = lab.within
        self.process = subprocess.Popen(
            [*prefix, sys.executable, str(HERE / "peer.py"), *map(str, words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=lab.placed,
        )
        self.pid = self.process.pid
        self.wait("ready")

    def wait(self, word):
        for line in self.process.stdout:
            if line.startswith(word):
                return line[len(word):].strip()
        raise EOFError(f"a client ended before it said '{word}'")

    def send(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def go(self):
        self.send("go")
        return self

    def done(self):
        """Waits until a publisher has sent everything, and gives its counts."""
        return json.loads(self.wait("done"))

    def run(self):
        return self.go().done()

    def die(self):
        """Kills a subscriber that tells of each message, and gives how many it had."""
        self.process.kill()
        return sum(line.startswith("got") for line in self.process.stdout)

    def leave(self):
        """Ends a subscriber, whatever is still under way to it."""
        self.send("leave")
        return json.loads(self.wait("done"))

    def end(self):
        self.send("end")
        return json.loads(self.wait("done"))


class Lab:
    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="truth-"))
        self.stack = contextlib.ExitStack()
        self.stack.callback(lambda: subprocess.run(["rm", "-rf", str(self.work)]))
        self.started = []
        self.waited = {}
        self.within = []
        self.cpu = None
        self.group = None
        self.stack.callback(self.kill)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # Whoever ends the script ends what it started.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
        tell("hello")
        expect("start")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.stack.close()

    # The conversation with the runner.

    def ready(self):
        tell("ready")
        expect("go")
        self.waited = {process.pid: waited(process.pid) for process in self.started}

    def look(self, name):
        tell(f"look {name}")
        expect("seen")

    def truth(self, sent, receivers, **more):
        """Ends the receivers, and says what was sent and delivered. A receiver may be a number."""
        waits = {process.pid: waited(process.pid) - self.waited.get(process.pid, 0) for process in self.started}
        sent = sent if isinstance(sent, int) else sent["sent"]
        counts = [r if isinstance(r, int) else r.end() for r in receivers]
        delivered = sum(c if isinstance(c, int) else c["received"] for c in counts)
        told = {"sent": sent, "delivered": delivered, "waited_ns": {pid: ns for pid, ns in waits.items() if ns > 0}}
        timed = [c for c in counts if not isinstance(c, int) and c.get("p50_ns")]
        if len(timed) == 1:
            told |= {name: timed[0][name] for name in ("p50_ns", "p99_ns")}
        tell("truth " + json.dumps(told | more))
        expect("end")

    # Programs.

    def placed(self):
        """What happens in a new process before its program: its CPU and its group."""
        if self.cpu is not None:
            os.sched_setaffinity(0, {self.cpu})
        if self.group is not None:
            (pathlib.Path(self.group) / "cgroup.procs").write_text(str(os.getpid()))

    @contextlib.contextmanager
    def on_cpu(self, cpu):
        self.cpu, before = cpu, self.cpu
        yield
        self.cpu = before

    @contextlib.contextmanager
    def in_space(self, name):
        self.within, before = ["ip", "netns", "exec", name], self.within
        yield
        self.within = before

    @contextlib.contextmanager
    def throttled(self, quota_us, period_us=100_000, depth=0):
        """What starts here shares `quota_us` of each period (version 1 of control groups), in a group so many levels below
        the one that has the quota. -1: no quota yet."""
        group = cpu_groups() / f"truth-{os.getpid()}-{len(self.started)}"
        groups = [group.joinpath(*["inner"] * level) for level in range(depth + 1)]
        for each in groups:
            each.mkdir()
            self.stack.callback(lambda each=each: (self.kill(), until("the group's end", lambda: remove(each), 10)))
        limit(group, quota_us, period_us)
        self.group = groups[-1]
        yield group
        self.group = None

    @contextlib.contextmanager
    def slow_disk(self, reads):
        """What starts here may read so many times a second from the disk that the file is on, which this gives."""
        file = self.work / "file"
        file.write_bytes(bytes(1 << 20))
        subprocess.run(["sync", file], check=True)
        group = groups_of("blkio") / f"truth-{os.getpid()}"
        group.mkdir()
        self.stack.callback(lambda: (self.kill(), until("the group's end", lambda: remove(group), 10)))
        device = file.stat().st_dev
        limits = group / "blkio.throttle.read_iops_device"
        limits.write_text(f"{os.major(device)}:{os.minor(device)} {reads}")
        self.group = group
        yield file
        self.group = None

    @contextlib.contextmanager
    def writer(self):
        """What starts here writes to the disk of this lab's folder; gives a function that limits how often in a second, 0: no more."""
        group = groups_of("blkio") / f"truth-{os.getpid()}-{len(self.started)}"
        group.mkdir()
        self.stack.callback(lambda: (self.kill(), until("the group's end", lambda: remove(group), 10)))
        device = self.work.stat().st_dev
        limits = group / "blkio.throttle.write_iops_device"
        self.group = group
        yield lambda writes: limits.write_text(f"{os.major(device)}:{os.minor(device)} {writes}")
        self.group = None

    @contextlib.contextmanager
    def throttles(self, group, least=10):
        """What is within happens while the group's quota is used up so many times at least: else nothing was arranged."""
        before = times_throttled(group)
        yield
        times = times_throttled(group) - before
        if times < least:
            sys.exit(f"the quota was used up {times} times only")

    def start(self, *words, **options):
        options.setdefault("stdout", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.DEVNULL)
        options.setdefault("stdin", subprocess.DEVNULL)
        words = [*self.within, *map(str, words)]
        process = subprocess.Popen(words, preexec_fn=self.placed, **options)
        self.started.append(process)
        return process

    def call(self, *words):
        return subprocess.run([*self.within, *map(str, words)], check=True, capture_output=True, text=True).stdout

    def kill(self):
        for process in self.started:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                    process.terminate()
        for process in self.started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.started = []

    def peer(self, *words):
        peer = Peer(self, *words)
        self.started.append(peer.process)
        return peer

    # Brokers.

    def mosquitto(self, port=PORT, address="127.0.0.1", lines="", nodelay="true"):
        conf = self.work / f"mosquitto-{port}.conf"
        conf.write_text(
            f"listener {port} {address}\nallow_anonymous true\nset_tcp_nodelay {nodelay}\npersistence false\n"
            f"max_queued_messages 0\nmax_inflight_messages 0\n{lines}\n"
        )
        broker = self.start(which("mosquitto"), "-c", conf)
        if not self.within:
            until("mosquitto's start", lambda: listens(port))
        else:
            until("mosquitto's start", lambda: f":{port} " in self.call("ss", "-Hltn"))
        return broker

    def nats(self, port=PORT, lines="", address="127.0.0.1"):
        conf = self.work / f"nats-{port}.conf"
        conf.write_text(f"listen: {address}:{port}\n{lines}\n")
        broker = self.start(which("nats-server"), "-c", conf)
        until("nats-server's start", lambda: listens(port))
        return broker

    def java(self, name, *words, **options):
        """A program of Apache Kafka's jars."""
        return self.start(*JAVA, name, *words, **options)

    def certificate(self):
        """A key and a certificate of its own for this host, for servers that encrypt."""
        key, cert = self.work / "key.pem", self.work / "cert.pem"
        made = ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", 2, "-subj", "/CN=localhost"]
        self.call("openssl", "req", "-x509", *made)
        for path in (key, cert, self.work):
            path.chmod(0o755)
        return key, cert

    def kafka(self, port=PORT, topics=("truth",), partitions=1, config=None, address="127.0.0.1"):
        """Apache Kafka in KRaft mode, from the folder that `wirelap-workload fetch kafka` filled."""
        conf = self.work / "kafka.properties"
        conf.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{port + 1}\ncontroller.listener.names=CONTROLLER\n"
            f"listeners=PLAINTEXT://{address}:{port},CONTROLLER://127.0.0.1:{port + 1}\n"
            f"advertised.listeners=PLAINTEXT://{address}:{port}\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            f"log.dirs={self.work}/kafka\noffsets.topic.replication.factor=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "group.initial.rebalance.delay.ms=0\noffsets.topic.num.partitions=1\n"
        )
        cluster = self.call(*JAVA, "kafka.tools.StorageTool", "random-uuid").split()[-1]
        self.call(*JAVA, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", conf)
        broker = self.java("kafka.Kafka", conf)
        until("Kafka's start", lambda: listens(port))
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": f"{address}:{port}"})
        wanted = [NewTopic(topic, partitions, 1, config=config or {}) for topic in topics]
        for made in admin.create_topics(wanted).values():
            made.result(30)
        return broker

    def quota(self, client, port=PORT, **rates):
        """What the broker lets a client do in a second."""
        quotas = ",".join(f"{name}={rate}" for name, rate in rates.items())
        named = ("--entity-type", "clients", "--entity-name", client)
        server = ("--bootstrap-server", f"127.0.0.1:{port}")
        self.call(*JAVA, "kafka.admin.ConfigCommand", *server, "--alter", "--add-config", quotas, *named)

    def shared(self, group, members, port=PORT):
        """Until so many consumers of a group have partitions."""
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})

        def is_shared():
            found = admin.describe_consumer_groups([group])[group].result(30).members
            return len(found) == members and all(one.assignment.topic_partitions for one in found)

        until("a share for each consumer", is_shared)

    def mock_kafka(self):
        """The broker that librdkafka has for tests, and its port."""
        broker = self.start(sys.executable, HERE / "mock_kafka.py", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return broker, int(broker.stdout.readline())

    # What goes wrong.

    def burn(self, cpu, nice=0):
        """A program that nobody here knows takes all of a CPU; below 0, before others that want it."""
        return self.start("nice", "-n", nice, "taskset", "-c", cpu, "yes")

    def drop(self, percent, hook="output", match=None, table="truth"):
        """The firewall drops one packet in so many, at random."""
        match = match or f"tcp dport {PORT}"
        rules = (
            f"table inet {table} {{ chain c {{ type filter hook {hook} priority 0; "
            f"{match} numgen random mod 1000 < {round(percent * 10)} counter drop; }}; }}"
        )
        self.call("nft", rules)

    def pass_again(self):
        """Nothing is dropped any more."""
        self.call("nft", "delete", "table", "inet", "truth")

    def dropped(self):
        words = self.call("nft", "list", "table", "inet", "truth").split()
        return int(words[words.index("packets") + 1])

    def narrow(self, rate, limit, device="lo", burst="70kb"):
        """The device is behind a token bucket."""
        self.call("tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", burst, "limit", limit)

    @contextlib.contextmanager
    def stops(self, pid, pause, length, times):
        """A process is stopped now and then, while what is within goes on."""
        over = threading.Event()

        def work():
            for _ in range(times):
                if over.wait(pause):
                    return
                os.kill(pid, signal.SIGSTOP)
                over.wait(length)
                os.kill(pid, signal.SIGCONT)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            thread.join() if times < 100 else over.set()
            thread.join()
            os.kill(pid, signal.SIGCONT)

    def space(self, name):
        """A network namespace; `name` gets this process's number, so that two runs do not meet."""
        full = f"truth{os.getpid()}{name}"
        self.call("ip", "netns", "add", full)
        self.stack.callback(lambda: (self.kill(), subprocess.run(["ip", "netns", "del", full])))
        self.call("ip", "-n", full, "link", "set", "lo", "up")
        return full

    def cable(self, space, here, there, name):
        """A veth from this namespace to `space`, with an address at each end."""
        near, far = f"{name}a", f"{name}b"
        self.call("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", space)
        self.call("ip", "addr", "add", f"{here}/24", "dev", near)
        self.call("ip", "link", "set", near, "up")
        self.call("ip", "-n", space, "addr", "add", f"{there}/24", "dev", far)
        self.call("ip", "-n", space, "link", "set", far, "up")
        self.call("ip", "-n", space, "route", "add", "default", "via", here)

    def tunnel(self, near, here, far, there, delay=0, late=1):
        """A program joins two namespaces, which have these addresses there, and keeps each packet for so many milliseconds; with
        `late`, each so-many-th with data."""
        tunnel = self.start(sys.executable, HERE / "tunnel.py", near, here, far, there, delay, late, stdout=subprocess.PIPE)
        tunnel.stdout.readline()


def which(program):
    for folder in [*os.environ["PATH"].split(":"), "/usr/sbin", "/usr/local/bin"]:
        path = pathlib.Path(folder) / program
        if path.is_file():
            return str(path)
    sys.exit(f"{program} is missing")


def cpu_groups():
    return groups_of("cpu")


def groups_of(controller):
    """Where a controller of version 1 is mounted."""
    with open("/proc/mounts") as mounts:
        for line in mounts:
            _, place, kind, options, *_ = line.split()
            if kind == "cgroup" and controller in options.split(","):
                return pathlib.Path(place)
    sys.exit(f"the {controller} controller of control groups, version 1, is not mounted")


def limit(group, quota_us, period_us=100_000):
    (group / "cpu.cfs_period_us").write_text(str(period_us))
    (group / "cpu.cfs_quota_us").write_text(str(quota_us))


def times_throttled(group):
    words = (group / "cpu.stat").read_text().split()
    return int(words[words.index("nr_throttled") + 1])


def remove(group):
    try:
        group.rmdir()
        return True
    except OSError:
        return False
