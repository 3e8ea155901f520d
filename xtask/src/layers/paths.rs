//! The paths that a Rust source names: every `use` tree taken apart, and every `a::b::c` in the code, made
//! absolute where it begins with `crate`, `self` or `super`.

use super::source::{Kind, Token, tokens};

/// A path as named in a source, absolute, with the line (from 1) that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

impl Named {
    /// `a::b::c`
    pub(crate) fn text(&self) -> String {
        self.segments.join("::")
    }

    /// True if the path is `prefix` or lies under it.
    pub(crate) fn is_under(&self, prefix: &str) -> bool {
        let mut segments = self.segments.iter();
        prefix.split("::").all(|wanted| segments.next().is_some_and(|segment| segment == wanted))
    }
}

/// Every path that `text` names. `module` is the module's own path: `["crate", "plan", "queue"]`.
pub(crate) fn named(text: &str, module: &[String]) -> Vec<Named> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let captures = tokens.get(index + 1).is_some_and(|token| token.kind == Kind::Mark('<'));
        if tokens[index].kind == Kind::Word("use".into()) && !captures {
            index = use_tree(&tokens, index + 1, &[], &mut found);
        } else if matches!(tokens[index].kind, Kind::Word(_)) {
            let (segments, end) = chain(&tokens, index);
            found.push(Named { segments, line: tokens[index].line });
            index = end;
        } else {
            index += 1;
        }
    }
    for path in &mut found {
        path.segments = absolute(&path.segments, module);
    }
    found
}

/// Words joined by `::`, from `start` on, and the index behind them.
fn chain(tokens: &[Token], start: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    let mut index = start;
    while let Some(Kind::Word(word)) = tokens.get(index).map(|token| &token.kind) {
        segments.push(word.clone());
        index += 1;
        let goes_on = matches!(tokens.get(index).map(|token| &token.kind), Some(Kind::Separator))
            && matches!(tokens.get(index + 1).map(|token| &token.kind), Some(Kind::Word(_)));
        if !goes_on {
            break;
        }
        index += 1;
    }
    (segments, index)
}

/// One branch of a `use` tree; gives the index behind it (behind the `;` for the outermost).
fn use_tree(tokens: &[Token], start: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let mut path = prefix.to_vec();
    let mut index = start;
    let mut is_group = false;
    while let Some(token) = tokens.get(index) {
        match &token.kind {
            Kind::Word(word) if word == "as" => index += 1,
            Kind::Word(word) => path.push(word.clone()),
            Kind::Mark('*') => path.push("*".into()),
            Kind::Mark('{') => {
                is_group = true;
                index += 1;
                while tokens.get(index).is_some_and(|token| token.kind != Kind::Mark('}')) {
                    index = use_tree(tokens, index, &path, found);
                    if tokens.get(index).is_some_and(|token| token.kind == Kind::Mark(',')) {
                        index += 1;
                    }
                }
            }
            Kind::Mark(',' | '}') if !prefix.is_empty() => break,
            Kind::Mark(';') => break,
            _ => {}
        }
        index += 1;
    }
    if !is_group && path.len() > prefix.len() {
        let line = tokens.get(index.saturating_sub(1)).map_or(0, |token| token.line);
        found.push(Named { segments: path, line });
    }
    index
}

fn absolute(segments: &[String], module: &[String]) -> Vec<String> {
    let mut base: Vec<String> = Vec::new();
    let mut rest = segments;
    match segments.first().map(String::as_str) {
        Some("self") => (base, rest) = (module.to_vec(), &segments[1..]),
        Some("super") => {
            base = module.to_vec();
            while rest.first().is_some_and(|segment| segment == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        _ => {}
    }
    base.extend(rest.iter().filter(|segment| *segment != "self").cloned());
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        let module = ["crate", "plan", "queue"].map(String::from);
        named(source, &module).iter().map(Named::text).collect()
    }

    #[test]
    fn use_trees_are_taken_apart() {
        let source = "use crate::{a::{b, c as d, self}, e::*}; use std::fs as files;";
        assert_eq!(texts(source), ["crate::a::b", "crate::a::c", "crate::a", "crate::e::*", "std::fs"]);
    }

    #[test]
    fn relative_paths_become_absolute() {
        let source = "use super::x::Y; let a = self::z(); super::super::pipeline::run::<u8>();";
        let found = texts(source);
        assert!(found.contains(&"crate::plan::x::Y".into()), "{found:?}");
        assert!(found.contains(&"crate::plan::queue::z".into()), "{found:?}");
        assert!(found.contains(&"crate::pipeline::run".into()), "{found:?}");
    }

    #[test]
    fn lines_are_those_of_the_name() {
        let found = named("\n\nuse a::{\n    b,\n    c,\n};\n", &[]);
        assert_eq!(found.iter().map(|path| path.line).collect::<Vec<_>>(), [4, 5]);
    }
}
