//! Apache Kafka's jars: where they are, and how they get there.

use crate::settings::APACHE;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};
use wirelap_contract::Availability;
use wirelap_harness::installed;

/// The version that is fetched.
const VERSION: &str = "4.3.1";
/// Names a folder with jars.
const VARIABLE: &str = "WIRELAP_KAFKA";
/// Kafka's own jar is called `kafka_<Scala's version>-<version>.jar`.
const SERVER_JAR: &str = "kafka_2.13-";
/// Folder of jars for all users.
const FOR_ALL: &str = "/var/cache";
/// The goal that copies jars, with a version so that Maven need not look for the newest.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

/// Java and jars that run Apache Kafka here.
pub struct Installed {
    /// The Java runtime.
    pub java: PathBuf,
    /// The folder with the jars.
    pub jars: PathBuf,
    /// Kafka's version, as its jar is named.
    pub version: String,
}

/// Tells whether Apache Kafka can be run, and what is missing otherwise.
pub fn availability() -> Availability {
    match find() {
        Ok(found) => Availability::Installed { version: Some(found.version) },
        Err(missing) => Availability::Missing { remedy: missing.to_string() },
    }
}

/// Finds Java and the jars; the error says how to get what is missing.
pub fn find() -> Result<Installed> {
    let java = installed::find("java");
    let Some((jars, version)) =
        places().into_iter().find_map(|place| Some((place.clone(), server_version(&place)?)))
    else {
        bail!(
            "apt-get install maven default-jre-headless, then `wirelap-workload fetch kafka` (as root: for \
             all users), or name a folder with the jars of Apache Kafka in ${VARIABLE}"
        );
    };
    let Some(java) = java else { bail!("apt-get install default-jre-headless (Java 17 or later)") };
    Ok(Installed { java, jars, version })
}

/// Folders in which jars may be, the first choice first. If the variable names one, it counts alone.
fn places() -> Vec<PathBuf> {
    if let Some(told) = env::var_os(VARIABLE) {
        return vec![told.into()];
    }
    let mut places = vec![below(Path::new(FOR_ALL))];
    if let Some(home) = env::var_os("HOME") {
        places.insert(0, below(&Path::new(&home).join(".cache")));
    }
    places
}

fn below(cache: &Path) -> PathBuf {
    cache.join(format!("wirelap/kafka-{VERSION}"))
}

/// The version of the server's jar in a folder, if it is there.
fn server_version(folder: &Path) -> Option<String> {
    fs::read_dir(folder).ok()?.find_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        Some(name.strip_prefix(SERVER_JAR)?.strip_suffix(".jar")?.to_owned())
    })
}

/// Lets Maven fetch the jars: for all users if this is root, or else for this one.
pub fn fetch() -> Result<()> {
    let Some(maven) = installed::find("mvn") else {
        bail!("Maven is not installed: apt-get install maven default-jre-headless");
    };
    let target = match env::var_os("HOME") {
        Some(home) if !geteuid().is_root() => below(&Path::new(&home).join(".cache")),
        _ => below(Path::new(FOR_ALL)),
    };
    if let Some(version) = server_version(&target) {
        wirelap_harness::control::say(&format!("{APACHE} {version} is in {}", target.display()));
        return Ok(());
    }
    let parent = target.parent().unwrap_or(&target);
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let work = tempfile::Builder::new()
        .prefix("fetch-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot write to {}", parent.display()))?;
    let jars = work.path().join("jars");
    copy(&maven, work.path(), &jars)?;
    // All at once: nobody finds half of them.
    fs::rename(&jars, &target).with_context(|| format!("cannot make {}", target.display()))?;
    wirelap_harness::control::say(&format!("{APACHE} {VERSION} is in {}", target.display()));
    Ok(())
}

fn copy(maven: &Path, work: &Path, jars: &Path) -> Result<()> {
    let project = work.join("pom.xml");
    fs::write(&project, project_file()).context("cannot write a project for Maven")?;
    let status = Command::new(maven)
        .args(["--batch-mode", "--quiet", "-Dstyle.color=never", "--file"])
        .arg(&project)
        .arg(COPY)
        .arg("-DincludeScope=runtime")
        .arg(format!("-DoutputDirectory={}", jars.display()))
        .stdin(Stdio::null())
        .status()
        .context("cannot start Maven")?;
    ensure!(status.success(), "Maven did not fetch the jars ({status})");
    ensure!(server_version(jars).is_some(), "Maven fetched something else than Apache Kafka");
    Ok(())
}

/// Kafka, its command-line tools, and something that prints what it logs.
fn project_file() -> String {
    let dependency = |group: &str, artifact: &str, version: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version></dependency>\n"
        )
    };
    let dependencies = [
        dependency("org.apache.kafka", "kafka_2.13", VERSION),
        dependency("org.apache.kafka", "kafka-tools", VERSION),
        dependency("org.slf4j", "slf4j-simple", "1.7.36"),
    ];
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n<modelVersion>4.0.0</modelVersion>\n\
         <groupId>wirelap</groupId><artifactId>kafka</artifactId><version>1</version>\n\
         <dependencies>\n{}</dependencies>\n</project>\n",
        dependencies.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_jar_tells_its_version() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(server_version(folder.path()), None);
        assert_eq!(server_version(&folder.path().join("nowhere")), None);
        for name in ["kafka-clients-3.9.0.jar", "kafka_2.13-4.0.0.pom", "kafka_2.13-4.1.0.jar"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(server_version(folder.path()).as_deref(), Some("4.1.0"));
    }
}
