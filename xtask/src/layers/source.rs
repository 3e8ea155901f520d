//! Cuts Rust source into the few kinds of token that the rules look at. Comments, strings and characters are
//! dropped, and so is what `#[cfg(test)]` stands in front of: tests may look into every room.

/// What a path is made of, with its line (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

/// The kinds of token that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word(String),
    /// `::`
    Separator,
    /// Any other character that is not white space.
    Mark(char),
}

/// The tokens of `text`, without tests.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    without_tests(all_tokens(text))
}

fn all_tokens(text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let (mut index, mut line) = (0, 1);
    while index < characters.len() {
        let start = index;
        let here = at(index);
        let mut kind = None;
        if here == '/' && at(index + 1) == '/' {
            while index < characters.len() && at(index) != '\n' {
                index += 1;
            }
        } else if here == '/' && at(index + 1) == '*' {
            index = end_of_block_comment(&characters, index);
        } else if here == '"' {
            index = end_of_string(&characters, index);
        } else if let Some(end) = end_of_raw_string(&characters, index) {
            index = end;
        } else if here == '\'' {
            index = end_of_character_or_lifetime(&characters, index);
        } else if here == ':' && at(index + 1) == ':' {
            kind = Some(Kind::Separator);
            index += 2;
        } else if here.is_alphanumeric() || here == '_' {
            while at(index).is_alphanumeric() || at(index) == '_' {
                index += 1;
            }
            kind = Some(Kind::Word(characters[start..index].iter().collect()));
        } else {
            kind = (!here.is_whitespace()).then_some(Kind::Mark(here));
            index += 1;
        }
        tokens.extend(kind.map(|kind| Token { kind, line }));
        line += characters[start..index.min(characters.len())].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

fn end_of_block_comment(characters: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut index = start;
    while index < characters.len() {
        match (characters[index], characters.get(index + 1)) {
            ('/', Some('*')) => (depth, index) = (depth + 1, index + 1),
            ('*', Some('/')) => (depth, index) = (depth - 1, index + 1),
            _ => {}
        }
        index += 1;
        if depth == 0 {
            break;
        }
    }
    index
}

fn end_of_string(characters: &[char], start: usize) -> usize {
    let mut index = start + 1;
    while index < characters.len() && characters[index] != '"' {
        index += if characters[index] == '\\' { 2 } else { 1 };
    }
    index + 1
}

/// `r"…"`, `br#"…"#` and the like; `None` if no raw string begins here.
fn end_of_raw_string(characters: &[char], start: usize) -> Option<usize> {
    let joins_a_word = start > 0 && (characters[start - 1].is_alphanumeric() || characters[start - 1] == '_');
    let rest = characters[start..].iter().skip_while(|c| matches!(c, 'b' | 'c'));
    let prefix = characters.len() - start - rest.clone().count();
    let mut index = start + prefix;
    if joins_a_word || prefix > 1 || characters.get(index) != Some(&'r') {
        return None;
    }
    index += 1;
    let hashes = characters[index..].iter().take_while(|c| **c == '#').count();
    index += hashes;
    if characters.get(index) != Some(&'"') {
        return None;
    }
    let mut end: Vec<char> = vec!['"'];
    end.extend(std::iter::repeat_n('#', hashes));
    let body = &characters[index + 1..];
    let length = body.windows(end.len()).position(|window| window == end)?;
    Some(index + 1 + length + end.len())
}

/// `'x'` and `'\n'` end after the second quote; a lifetime's quote stands alone.
fn end_of_character_or_lifetime(characters: &[char], start: usize) -> usize {
    match (characters.get(start + 1), characters.get(start + 2)) {
        (Some('\\'), _) => {
            let rest = characters[start + 3..].iter().position(|c| *c == '\'');
            rest.map_or(characters.len(), |length| start + 3 + length + 1)
        }
        (Some(_), Some('\'')) => start + 3,
        _ => start + 1,
    }
}

fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while index < tokens.len() {
        if begins_test_attribute(&tokens[index..]) {
            index = end_of_item(&tokens, index);
        } else {
            kept.push(tokens[index].clone());
            index += 1;
        }
    }
    kept
}

fn begins_test_attribute(tokens: &[Token]) -> bool {
    let words = |text: &str| Kind::Word(text.to_owned());
    let wanted =
        [Kind::Mark('#'), Kind::Mark('['), words("cfg"), Kind::Mark('('), words("test"), Kind::Mark(')')];
    tokens.len() >= wanted.len() && tokens.iter().zip(&wanted).all(|(token, wanted)| token.kind == *wanted)
}

/// The end of the item behind the attribute: a `;` outside all brackets, or the brace that closes its body.
fn end_of_item(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens[start..].iter().enumerate() {
        match token.kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.kind == Kind::Mark('}') {
                    return start + offset + 1;
                }
            }
            Kind::Mark(';') if depth == 0 => return start + offset + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text)
            .into_iter()
            .filter_map(|token| if let Kind::Word(word) = token.kind { Some(word) } else { None })
            .collect()
    }

    #[test]
    fn comments_strings_and_characters_are_dropped() {
        let text = "a // b\n/* c /* d */ e */ \"f \\\" g\" 'h' '\\'' b\"i\" br#\"j \" k\"# l<'m>";
        // The b that is left is the prefix of the byte string.
        assert_eq!(words(text), ["a", "b", "l", "m"]);
    }

    #[test]
    fn a_lines_number_counts_through_strings_and_comments() {
        let tokens = tokens("/* one\n two */ \"three\n\" four");
        assert_eq!(tokens.last().map(|token| token.line), Some(3));
    }

    #[test]
    fn what_only_tests_see_is_dropped() {
        let text = "a; #[cfg(test)] #[path = \"x\"] mod b { fn c() { d } } e; #[cfg(test)] use f::{g}; h";
        assert_eq!(words(text), ["a", "e", "h"]);
    }
}
