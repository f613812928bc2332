//! Accessibility of the page for keyboards, screen readers and small screens.

use crate::fixtures::{all, at_rates, page_of};
use crate::markup::{Element, read};
use std::collections::BTreeSet;
use wirelap_page::{ExplainOptions, File, page};

/// All pages: of one file, of none, and of several.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> =
        all().iter().map(|(name, report)| ((*name).to_owned(), page_of(report))).collect();
    let [one, two] = at_rates();
    let files = [File { name: "one.json", report: &one }, File { name: "two.json", report: &two }];
    pages.push(("two files".into(), page(&files, ExplainOptions::default())));
    pages.push((
        "the same file twice".into(),
        page(&[files[0], files[0]], ExplainOptions { worst: 9 }),
    ));
    pages.push(("no file".into(), page(&[], ExplainOptions::default())));
    pages
}

fn each(check: impl Fn(&str, &Element)) {
    for (name, text) in pages() {
        check(&name, &read(&text));
    }
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    each(|name, html| {
        let mut ids = BTreeSet::new();
        for element in html.all() {
            if let Some(id) = element.attribute("id") {
                assert!(ids.insert(id), "{name}: {id} stands twice");
                assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}: {id}");
            }
        }
        for element in html.all() {
            let links = ["aria-labelledby", "aria-describedby"].map(|name| element.attribute(name));
            let target =
                element.attribute("href").map(|link| link.strip_prefix('#').unwrap_or(link));
            for id in links.into_iter().chain([target]).flatten() {
                assert!(ids.contains(id), "{name}: nothing has the id {id}");
            }
        }
    });
}

#[test]
fn the_page_has_landmarks_a_language_and_one_main_heading() {
    each(|name, html| {
        assert_eq!((html.tag.as_str(), html.attribute("lang")), ("html", Some("en")));
        for tag in ["main", "h1", "nav", "header", "footer"] {
            assert_eq!(html.find(tag).len(), 1, "{name}: {tag}");
        }
        assert!(!html.find("head")[0].find("title")[0].text().is_empty(), "{name}");
        let body = html.find("body")[0];
        let first = body.elements().next().unwrap();
        assert_eq!(first.attribute("href"), Some("#main"), "{name}: skip link first");
        assert!(html.find("nav")[0].attribute("aria-label").is_some());
        let viewport =
            html.find("meta").into_iter().find(|meta| meta.attribute("name") == Some("viewport"));
        assert!(viewport.unwrap().attribute("content").unwrap().contains("width=device-width"));
    });
}

#[test]
fn no_level_of_headings_is_left_out() {
    each(|name, html| {
        let levels = html.all().into_iter().filter_map(|element| {
            let level = element.tag.strip_prefix('h')?.parse::<u8>().ok()?;
            assert!(!element.text().trim().is_empty(), "{name}: an empty heading");
            Some(level)
        });
        let levels: Vec<u8> = levels.collect();
        assert_eq!(levels.first(), Some(&1), "{name}");
        for two in levels.windows(2) {
            assert!(two[1] <= two[0] + 1, "{name}: h{} after h{}", two[1], two[0]);
        }
    });
}

#[test]
fn every_chart_says_what_it_is_and_has_its_figures_as_a_table() {
    each(|name, html| {
        for svg in html.find("svg") {
            if svg.attribute("aria-hidden") == Some("true") {
                continue;
            }
            assert_eq!(svg.attribute("role"), Some("img"), "{name}");
            let words: Vec<&Element> = svg.elements().take(2).collect();
            assert_eq!((words[0].tag.as_str(), words[1].tag.as_str()), ("title", "desc"));
            assert!(words.iter().all(|one| !one.text().trim().is_empty()), "{name}");
        }
        for figure in html.find("figure") {
            assert!(!figure.find("figcaption")[0].text().is_empty());
            let details = figure.find("details");
            let tables = details.iter().map(|one| one.find("table").len()).sum::<usize>();
            assert_eq!((details.len(), tables), (1, 1), "{name}: {:?}", figure.attribute("id"));
        }
    });
}

#[test]
fn tables_have_captions_and_scopes_and_scroll_by_themselves() {
    each(|name, html| {
        for table in html.find("table") {
            let caption = table.find("caption");
            assert!(caption.len() == 1 && !caption[0].text().is_empty(), "{name}");
            let caption = caption[0].text();
            let width = table.find("thead")[0].find("th").len();
            assert!(table.find("th").iter().all(|th| th.attribute("scope").is_some()), "{name}");
            for row in table.rows() {
                assert_eq!(row.len(), width, "{name}, {caption}: {row:?}");
            }
        }
        let scrolling =
            html.all().into_iter().filter(|one| one.attribute("class") == Some("scroll"));
        let mut tables = 0;
        for one in scrolling {
            tables += one.find("table").len();
            assert_eq!(one.attribute("tabindex"), Some("0"), "{name}");
            assert!(
                one.attribute("role") == Some("region") && one.attribute("aria-label").is_some()
            );
        }
        assert_eq!(tables, html.find("table").len(), "{name}: every table is in a container");
    });
}
