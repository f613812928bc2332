//! A strict reader of the page: every tag is closed in order, every attribute is quoted and stands once, and all text is
//! escaped.

/// Elements without content or end tag.
const VOID: [&str; 4] = ["meta", "link", "br", "hr"];
/// Elements whose content is no markup.
const RAW: [&str; 1] = ["style"];

/// An element.
#[derive(Clone, Debug, Default)]
pub struct Element {
    pub tag: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Node>,
}

/// The content of an element.
#[derive(Clone, Debug)]
pub enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.0 == name).map(|found| found.1.as_str())
    }

    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// This element and all below it, in order.
    pub fn all(&self) -> Vec<&Element> {
        let mut found = vec![self];
        self.elements().for_each(|element| found.extend(element.all()));
        found
    }

    /// All elements below it with a tag.
    pub fn find(&self, tag: &str) -> Vec<&Element> {
        self.all().into_iter().filter(|element| element.tag == tag).collect()
    }

    pub fn with_id(&self, id: &str) -> Option<&Element> {
        self.all().into_iter().find(|element| element.attribute("id") == Some(id))
    }

    /// The text in it.
    pub fn text(&self) -> String {
        let parts = self.children.iter().map(|node| match node {
            Node::Element(element) => element.text(),
            Node::Text(text) => text.clone(),
        });
        parts.collect()
    }

    /// The cells of a table's body.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let body = self.find("tbody");
        let rows = body.iter().flat_map(|body| body.find("tr"));
        rows.map(|row| row.elements().map(Element::text).collect()).collect()
    }
}

/// Reads a document; panics at the first thing that is wrong.
pub fn read(document: &str) -> Element {
    let rest = document.strip_prefix("<!DOCTYPE html>").expect("begins with the doctype");
    let mut stack = vec![Element::default()];
    let mut rest = rest;
    while !rest.is_empty() {
        if let Some(end) = rest.strip_prefix("</") {
            let (tag, after) = end.split_once('>').expect("an end tag ends");
            let closed = stack.pop().expect("something to close");
            assert_eq!(closed.tag, tag, "closed in order");
            stack.last_mut().expect("has a parent").children.push(Node::Element(closed));
            rest = after;
        } else if let Some(start) = rest.strip_prefix('<') {
            rest = begin(start, &mut stack);
        } else {
            let (text, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
            stack.last_mut().expect("an element").children.push(Node::Text(unescape(text)));
            rest = after;
        }
    }
    let [root] = stack.try_into().expect("everything is closed");
    let [html] = root.elements().collect::<Vec<_>>().try_into().expect("one root");
    html.clone()
}

/// An opening tag; gives what is after it.
fn begin<'a>(text: &'a str, stack: &mut Vec<Element>) -> &'a str {
    let name = text.find(|c: char| !c.is_ascii_alphanumeric()).expect("a tag ends");
    let (tag, mut rest) = text.split_at(name);
    assert!(!tag.is_empty(), "a tag has a name: {}", &text[..text.len().min(60)]);
    let mut element = Element { tag: tag.to_owned(), ..Element::default() };
    while let Some(after) = rest.strip_prefix(' ') {
        let (name, value) = after.split_once("=\"").expect("attributes are quoted");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "attribute {name:?}");
        assert!(element.attribute(name).is_none(), "{name} stands twice in {tag}");
        let (value, after) = value.split_once('"').expect("a value ends");
        assert!(!value.contains('<'), "{name}={value}");
        element.attributes.push((name.to_owned(), unescape(value)));
        rest = after;
    }
    let mut rest = rest.strip_prefix('>').unwrap_or_else(|| panic!("<{tag} does not end"));
    if RAW.contains(&tag) {
        let end = format!("</{tag}>");
        let (content, after) = rest.split_once(&end).expect("raw text ends");
        element.children.push(Node::Text(content.to_owned()));
        rest = after;
    } else if !VOID.contains(&tag) {
        stack.push(element);
        return rest;
    }
    stack.last_mut().expect("an element").children.push(Node::Element(element));
    rest
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, after) = part.split_once(';').expect("a reference ends");
        out.push_str(match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            name => panic!("unknown reference {name}"),
        });
        out.push_str(after);
    }
    out
}
