//! Reads `include/events.h`: its enums and its structs with the offset of each field.
//!
//! It parses only the part of C that the header's comment allows, and returns an error for everything else.

use std::fmt::Write;

/// A field of a struct.
struct Field {
    name: String,
    offset: usize,
    size: usize,
}

/// A struct: its name, fields, size and alignment in bytes.
struct Struct {
    name: String,
    fields: Vec<Field>,
    size: usize,
    align: usize,
}

/// The enums and structs of the header.
pub struct Header {
    constants: Vec<(String, u32)>,
    structs: Vec<Struct>,
}

/// Parses the header's text.
pub fn parse(text: &str) -> Result<Header, String> {
    let text = strip_comments(text)?;
    let mut header = Header { constants: Vec::new(), structs: Vec::new() };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["enum", _, "{"] => header.parse_enum(&mut lines)?,
            ["struct", name, "{"] => header.parse_struct(name, &mut lines)?,
            _ if line.starts_with('#') => {}
            _ => return Err(format!("events.h: cannot read `{line}`")),
        }
    }
    Ok(header)
}

fn strip_comments(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").ok_or("events.h: a comment does not end")?.1;
    }
    out.push_str(rest);
    Ok(out)
}

impl Header {
    fn parse_enum<'a>(&mut self, lines: &mut impl Iterator<Item = &'a str>) -> Result<(), String> {
        let mut next = 0;
        for line in lines {
            if line == "};" {
                return Ok(());
            }
            let item = line.trim_end_matches(',');
            let (name, value) = match item.split_once('=') {
                Some((name, value)) => (name, value.trim().parse().map_err(|_| bad(line))?),
                None => (item, next),
            };
            next = value + 1;
            self.constants.push((name.trim().to_owned(), value));
        }
        Err("events.h: an enum does not end".into())
    }

    fn parse_struct<'a>(
        &mut self,
        name: &str,
        lines: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        let mut parsed = Struct { name: name.to_owned(), fields: Vec::new(), size: 0, align: 1 };
        for line in lines {
            if line == "};" {
                if !parsed.size.is_multiple_of(parsed.align) {
                    return Err(format!("events.h: struct {name} ends with implicit padding"));
                }
                self.structs.push(parsed);
                return Ok(());
            }
            let (size, align, field) = self.parse_field(line)?;
            if !parsed.size.is_multiple_of(align) {
                return Err(format!("events.h: implicit padding before {name}.{field}"));
            }
            parsed.fields.push(Field { name: field, offset: parsed.size, size });
            parsed.size += size;
            parsed.align = parsed.align.max(align);
        }
        Err(format!("events.h: struct {name} does not end"))
    }

    /// A field's size, alignment and name.
    fn parse_field(&self, line: &str) -> Result<(usize, usize, String), String> {
        let declaration = line.strip_suffix(';').ok_or_else(|| bad(line))?;
        let (kind, name) = declaration.rsplit_once(' ').ok_or_else(|| bad(line))?;
        let (name, count) = match name.split_once('[') {
            Some((name, count)) => {
                (name, count.trim_end_matches(']').parse::<usize>().map_err(|_| bad(line))?)
            }
            None => (name, 1),
        };
        let (size, align) = match kind.trim() {
            "__u8" => (1, 1),
            "__u16" => (2, 2),
            "__u32" => (4, 4),
            "__u64" => (8, 8),
            other => self
                .structs
                .iter()
                .find(|known| other.strip_prefix("struct ") == Some(&known.name))
                .map(|known| (known.size, known.align))
                .ok_or_else(|| bad(line))?,
        };
        Ok((size * count, align, name.to_owned()))
    }

    /// Rust modules of constants: `layout::wl_send::COOKIE` is a field's offset, `SIZE` the struct's size.
    pub fn to_rust(&self) -> String {
        let mut out = String::new();
        for (name, value) in &self.constants {
            let _ = writeln!(out, "/// `{name}` of `events.h`.\npub const {name}: u32 = {value};");
        }
        for item in &self.structs {
            let name = &item.name;
            let _ = writeln!(out, "/// Byte offsets in `struct {name}` of `events.h`.");
            let _ = writeln!(out, "pub mod {name} {{");
            let _ =
                writeln!(out, "/// Bytes of the struct.\npub const SIZE: usize = {};", item.size);
            for Field { name, offset, .. } in &item.fields {
                let upper = name.to_uppercase();
                let _ = writeln!(out, "/// `{name}`.\npub const {upper}: usize = {offset};");
            }
            out.push_str("}\n");
        }
        out
    }

    /// C code that compiles only if clang uses the same layout.
    pub fn to_static_assertions(&self) -> String {
        let mut out = String::new();
        for item in &self.structs {
            let name = &item.name;
            let mut check = |what: String, value: usize| {
                let _ = writeln!(out, "_Static_assert({what} == {value}, \"layout of {name}\");");
            };
            check(format!("sizeof(struct {name})"), item.size);
            for field in &item.fields {
                check(format!("__builtin_offsetof(struct {name}, {})", field.name), field.offset);
                check(format!("sizeof(((struct {name} *)0)->{})", field.name), field.size);
            }
        }
        out
    }
}

fn bad(line: &str) -> String {
    format!("events.h: cannot read `{line}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_follow_the_declarations() {
        let header = parse(
            "/* c */ struct a {\n\t__u64 x;\n\t__u8 y[8];\n};\nstruct b {\n\tstruct a a;\n\t__u32 z;\n\t__u32 w;\n};\nenum e {\n\tONE = 1,\n\tTWO,\n};\n",
        )
        .unwrap();
        let rust = header.to_rust();
        assert!(rust.contains("pub const Y: usize = 8;"));
        assert!(rust.contains("pub const W: usize = 20;"));
        assert!(rust.contains("pub const SIZE: usize = 24;"));
        assert!(rust.contains("pub const TWO: u32 = 2;"));
        assert!(header.to_static_assertions().contains("offsetof(struct b, z) == 16"));
    }

    #[test]
    fn padding_and_unknown_types_are_refused() {
        for text in [
            "struct a {\n\t__u8 x;\n\t__u32 y;\n};",
            "struct a {\n\t__u32 x;\n\t__u8 y;\n};",
            "struct a {\n\tlong x;\n};",
            "struct a {\n\t__u32 x;",
            "union a {\n};",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
