//! A report that tries to put something of its own into the page.

use crate::fixtures::latency;
use crate::markup::read;
use wirelap_page::{ExplainOptions, File, page};
use wirelap_report::RunReport;

const ATTACK: &str = "</title></style></svg>--><script>alert(1)</script><img src=x onerror='a()'>\" onload=\"b()\" &amp; \u{202e}\0'";

/// Replaces each text of a report by the attack.
fn poison(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = format!("{text}{ATTACK}"),
        serde_json::Value::Array(all) => all.iter_mut().for_each(poison),
        serde_json::Value::Object(all) => all.values_mut().for_each(poison),
        _ => {}
    }
}

/// The report with every text that may be any text poisoned; names that are of a list are kept.
fn poisoned() -> RunReport {
    let report = latency();
    let mut value = serde_json::to_value(&report).unwrap();
    poison(&mut value);
    let keep = |value: &mut serde_json::Value, path: &str, text: &str| {
        *value.pointer_mut(path).unwrap() = text.into();
    };
    keep(&mut value, "/scenario/kind", "latency");
    keep(&mut value, "/scenario/pacing", "ping_pong");
    for result in value["results"].as_array_mut().unwrap() {
        keep(result, "/trust/verdict", "reduced");
        keep(result, "/trust/detail", "full");
        if result.get("view").is_some() {
            keep(result, "/view", "both_ends");
        }
        for repetition in result["repetitions"].as_array_mut().unwrap() {
            keep(repetition, "/trust/verdict", "good");
            keep(repetition, "/trust/detail", "full");
        }
        for reason in result["trust"]["reasons"].as_array_mut().unwrap() {
            keep(reason, "/verdict", "reduced");
        }
        let verdicts = result.pointer_mut("/why/verdicts").and_then(|all| all.as_array_mut());
        for verdict in verdicts.into_iter().flatten() {
            keep(verdict, "/severity", "problem");
        }
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn texts_of_a_file_stay_texts() {
    let clean = latency();
    let hostile = poisoned();
    let file = |report| page(&[File { name: ATTACK, report }], ExplainOptions::default());
    let (clean, text) = (file(&clean), file(&hostile));
    let html = read(&text);
    assert!(html.text().contains("<script>alert(1)</script>"), "the attack is shown as text");
    let scripts = html
        .all()
        .into_iter()
        .filter(|one| ["script", "img", "iframe", "object", "a"].contains(&one.tag.as_str()));
    for element in scripts {
        assert_eq!(element.tag, "a");
        assert!(element.attribute("href").unwrap().starts_with('#'));
    }
    let tags = |text: &str| {
        let mut tags: Vec<String> = read(text).all().iter().map(|one| one.tag.clone()).collect();
        tags.sort();
        tags.dedup();
        tags
    };
    assert!(tags(&text).iter().all(|tag| tags(&clean).contains(tag)), "no new kind of element");
    for element in html.all() {
        for (name, _) in &element.attributes {
            assert!(!name.starts_with("on") && name != "style", "{name}");
        }
    }
    assert!(!text.contains(['\0', '\u{202e}']));
}

#[test]
fn nothing_is_loaded() {
    let text = page(&[File { name: "run.json", report: &latency() }], ExplainOptions::default());
    for element in read(&text).all() {
        for (name, value) in &element.attributes {
            assert!(!["src", "srcset", "data", "action", "poster"].contains(&name.as_str()));
            assert!(!value.contains("://") && !value.contains("url("), "{name}={value}");
        }
    }
    let style = &read(&text).find("style")[0].text();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(text.contains("default-src 'none'"));
}
