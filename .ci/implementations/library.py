"""The folders of the implementations: what is in them, and how it is installed, each below the cache in a folder of its own.

A folder `NAME/` has `implementation.toml`, and a program `server.*`, `client.*` or both. A program ends in `.py`, `.mjs`, `.go`, `.java`, `.rs` or
`.c`, or is executable as it is. What it is installed with stands in the file, pinned:

    about = "aedes"            what people call it
    protocol = "mqtt"          a part of protocols.toml
    apt = ["mosquitto"]        packages of this machine's Debian, which pins them
    pypi = ["paho-mqtt==2.2.0"]
    npm = ["aedes@1.2.0"]
    go = ["github.com/nats-io/nats.go@v1.52.0"]        modules that the program is compiled with
    go_programs = ["github.com/nats-io/nats-server/v2@v2.15.2"]
    maven = ["org.apache.kafka:kafka_2.13:4.3.1", "-org.scala-lang:scala-reflect"]     the second is left out
    crates = ['async-nats = "=0.51.0"']     lines of Cargo.toml
    link = ["-lzmq"]           what a program in C is linked with
    ready = "line"             the server prints `ready`; else it is ready once it listens
    env = { NAME = "value" }   what its programs find in their environment
    options = { rate = 10 }    of the rows with this server, instead of the protocol's
    own_topics = ["rosout"]    topics of the library's own messages, which the programs do not count
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LAB = HERE.parents[1] / "tracer/cli/tests/truth/lab"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "wirelap/implementations"
SUPPORT = HERE / "support"
# The longest that one step of an installation takes.
INSTALL_LIMIT_S = 1200
# A frame with these bytes ends a capture.
LAST_BYTES = b"the runner's last packet"
KEYS = {"about", "protocol", "crates", "apt", "pypi", "npm", "go", "go_programs", "maven", "link", "ready", "env", "own_topics", "options"}
PINS = ["apt", "pypi", "npm", "go", "go_programs", "maven", "crates"]


class Fault(Exception):
    """Something that could not be arranged; says what to look at."""


class Implementation:
    def __init__(self, folder):
        self.name, self.folder, self.place = folder.name, folder, CACHE / folder.name
        self.told = tomllib.loads((folder / "implementation.toml").read_text())
        if unknown := set(self.told) - KEYS:
            raise Fault(f"{folder.name}/implementation.toml: unknown {', '.join(sorted(unknown))}")
        self.about, self.protocol = self.told["about"], self.told["protocol"]

    def program(self, role):
        """The file of its server or client, if it has one."""
        capital = role.capitalize()
        found = [path for path in self.folder.iterdir() if path.stem in (role, capital) and path.suffix != ".toml"]
        return found[0] if found else None

    def pins(self):
        return [f"{kind}: {pin}" for kind in PINS for pin in self.told.get(kind, [])]

    def version(self):
        """Of the first package that is pinned."""
        for kind in ["apt", "pypi", "npm", "go_programs", "go", "maven", "crates"]:
            for pin in self.told.get(kind, []):
                if kind == "crates":
                    return pin.split('"=')[1].split('"')[0]
                if kind == "apt":
                    asked = ["dpkg-query", "--show", "--showformat", "${Version}", pin]
                    return f"{subprocess.run(asked, capture_output=True, text=True).stdout} (Debian)"
                return pin.replace("==", "@").rsplit(":" if kind == "maven" else "@", 1)[1].removeprefix("v")
        return ""

    # Installation.

    def install(self):
        """Installs what is missing, and compiles; says each package before it comes."""
        stamp = self.place / "stamp"
        wanted = json.dumps(self.pins())
        if self.told.get("apt"):
            install_packages(self.told["apt"])
        if not stamp.is_file() or stamp.read_text() != wanted:
            if self.pins():
                print(f"{self.name}: downloads {', '.join(self.pins())}, into {self.place}", flush=True)
            shutil.rmtree(self.place, ignore_errors=True)
            self.place.mkdir(parents=True)
            self.download()
            stamp.write_text(wanted)
        self.compile()

    def download(self):
        told, place = self.told, self.place
        if told.get("pypi"):
            self.run([sys.executable, "-m", "venv", place / "venv"])
            self.run([place / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", *told["pypi"]])
        if told.get("npm"):
            self.run(["npm", "install", "--prefix", place, "--no-audit", "--no-fund", "--loglevel=error", *told["npm"]])
        for program in told.get("go_programs", []):
            self.run(["go", "install", program], GOBIN=str(place / "bin"))
        if told.get("maven"):
            (place / "pom.xml").write_text(pom(told["maven"]))
            copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
            self.run(["mvn", "--quiet", "--batch-mode", copy, f"-DoutputDirectory={place}/lib", "-DincludeScope=runtime"])

    def compile(self):
        """Puts the programs beside what they import. A program is compiled again only when it changed."""
        sources = [path for path in [*SUPPORT.iterdir(), *self.folder.iterdir()] if path.is_file()]
        digest = hashlib.sha256()
        for path in sorted(sources):
            digest.update(path.name.encode() + path.read_bytes())
        stamp = self.place / "compiled"
        if stamp.is_file() and stamp.read_text() == digest.hexdigest():
            return
        source = self.place / "src"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        for path in sources:
            shutil.copy(path, source)
        for role in ("server", "client"):
            program = self.program(role)
            if program and program.suffix == ".go":
                self.compile_go(program, role)
            elif program and program.suffix == ".rs":
                self.compile_rust(program, role)
            elif program and program.suffix == ".c":
                words = ["cc", "-O1", "-Wall", "-I", SUPPORT, program, "-o", self.place / role]
                self.run([*words, *self.told.get("link", [])])
            elif program and program.suffix == ".java":
                files = [source / program.name, SUPPORT / "Peer.java"]
                self.run(["javac", "-nowarn", "-cp", f"{self.place}/lib/*", "-d", self.place / "classes", *files])
        stamp.write_text(digest.hexdigest())

    def compile_go(self, program, role):
        folder = self.place / f"go-{role}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(program, folder)
        if role == "client":
            shutil.copy(SUPPORT / "peer.go", folder)
        self.run(["go", "mod", "init", role], folder)
        self.run(["go", "get", *self.told.get("go", [])], folder)
        self.run(["go", "build", "-o", self.place / role, "."], folder)

    def compile_rust(self, program, role):
        folder = self.place / f"rust-{role}"
        (folder / "src").mkdir(parents=True, exist_ok=True)
        shutil.copy(program, folder / "src/main.rs")
        shutil.copy(SUPPORT / "peer.rs", folder / "src")
        head = f'[workspace]\n[package]\nname = "{role}"\nversion = "1.0.0"\nedition = "2024"\n[dependencies]\n'
        (folder / "Cargo.toml").write_text(head + "\n".join(self.told["crates"]) + "\n")
        self.run(["cargo", "build", "--quiet"], folder, CARGO_TARGET_DIR=str(folder / "target"))
        shutil.copy(folder / "target/debug" / role, self.place / role)

    def run(self, words, folder=None, **env):
        """One step of the installation; what it said is shown if it fails."""
        env = os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"} | env
        words = list(map(str, words))
        done = subprocess.run(
            words, cwd=folder or self.place, env=env, text=True, timeout=INSTALL_LIMIT_S,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        if done.returncode:
            raise Fault(f"{self.name}: `{' '.join(words)}` failed:\n{done.stdout[-3000:]}")

    # What is run.

    def command(self, role):
        program = self.program(role)
        if program is None:
            raise Fault(f"{self.name} has no {role}")
        copied = self.place / "src" / program.name
        match program.suffix:
            case ".py":
                python = self.place / "venv/bin/python"
                return [str(python if python.exists() else sys.executable), str(copied)]
            case ".mjs":
                # Beside node_modules, where its imports are looked for.
                return ["node", str(copied)]
            case ".java":
                return ["java", "-Xmx512m", "-cp", f"{self.place}/classes:{self.place}/lib/*", program.stem]
            case ".go" | ".c" | ".rs":
                return [str(self.place / role)]
        return [str(copied)]

    def environment(self):
        path = f"{self.place}/bin:{self.place}/venv/bin:{os.environ['PATH']}:/usr/sbin:/sbin"
        python = f"{SUPPORT}:{LAB}"
        own = {"HERE": str(self.place), "SUPPORT": str(SUPPORT)}
        return {"PATH": path, "PYTHONPATH": python, "PYTHONDONTWRITEBYTECODE": "1"} | own | self.told.get("env", {})


def install_packages(names):
    asked = ["dpkg-query", "--show", "--showformat", "${Package} ${Status}\n", *names]
    here = subprocess.run(asked, capture_output=True, text=True).stdout.splitlines()
    here = {line.split()[0] for line in here if line.endswith("installed")}
    missing = [name for name in names if name not in here]
    if not missing:
        return
    print(f"installs Debian's {', '.join(missing)}", flush=True)
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
        done = subprocess.run(["apt-get", "-qq", *words], env=env, capture_output=True, text=True)
        if done.returncode:
            raise Fault(f"apt-get {' '.join(words)} failed:\n{done.stderr[-3000:]}")


def pom(pins):
    """A project that does nothing but depend on these."""
    wanted = [pin.split(":") for pin in pins if not pin.startswith("-")]
    left_out = [pin[1:].split(":") for pin in pins if pin.startswith("-")]
    exclusions = "".join(f"<exclusion>{elements(groupId=group, artifactId=name)}</exclusion>" for group, name in left_out)
    dependencies = "".join(
        f"<dependency>{elements(groupId=group, artifactId=name, version=version)}<exclusions>{exclusions}</exclusions></dependency>"
        for group, name, version in wanted
    )
    own = elements(modelVersion="4.0.0", groupId="wirelap", artifactId="implementation", version="1")
    return f'<project xmlns="http://maven.apache.org/POM/4.0.0">{own}<dependencies>{dependencies}</dependencies></project>'


def elements(**values):
    return "".join(f"<{name}>{value}</{name}>" for name, value in values.items())


def implementations():
    """All folders, by name."""
    folders = sorted(path.parent for path in HERE.glob("*/implementation.toml"))
    return {folder.name: Implementation(folder) for folder in folders}


def protocols():
    """What protocols.toml says of each protocol, and the names of the rows that CI tries."""
    told = tomllib.loads((HERE / "protocols.toml").read_text())
    return told, told.pop("ci")
