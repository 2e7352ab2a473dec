//! Finds literal module names in scripts: `import … from "x"`, `import "x"`, `import("x")`, `export
//! … from "x"`, `new URL("x", import.meta.url)`; and `importScripts("x", "y")`.
//!
//! This is a scanner, not a parser. It distinguishes comments, strings, templates and regular
//! expressions, and remembers the last few tokens. A name that a script composes from parts is not
//! found.

use super::Class;
use super::gather::Collector;

/// The maximum nesting of templates that is followed.
const MAX_TEMPLATES: usize = 64;

/// The longest string or word that is remembered, in bytes.
const MAX_TEXT: usize = 8 * 1024;

/// A scanner for a script that arrives in pieces of any length.
#[derive(Debug, Default)]
pub(super) struct Script {
    state: ScriptState,
    /// Text of the current string or word.
    text: String,
    is_long: bool,
    /// The last three tokens, the latest last.
    last: [ScriptToken; 3],
    /// A string at the position of a module name. The next token confirms whether the string is a
    /// module name.
    pending: Option<(String, Confirmation)>,
    /// Whether the `from` of an `import` or `export` may follow.
    is_declaration: bool,
    /// For each template around the code: the number of open braces in the code.
    templates: Vec<u32>,
    /// Whether another argument of `importScripts` may follow.
    is_argument: bool,
    /// Module names from the page's import map.
    names: super::manifest::ImportMap,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScriptState {
    #[default]
    Code,
    Word,
    Slash,
    LineComment,
    BlockComment {
        star: bool,
    },
    String {
        quote: char,
        escaped: bool,
    },
    Template {
        escaped: bool,
        dollar: bool,
    },
    Regex {
        escaped: bool,
        class: bool,
    },
}

/// A token, as far as its kind matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScriptToken {
    #[default]
    Start,
    Import,
    ImportScripts,
    From,
    Url,
    New,
    Meta,
    /// Another word after which a regular expression may follow, such as `return`.
    Operator,
    /// Another word, or a number.
    Name,
    String,
    Punctuation(char),
}

/// The token that must follow a string to confirm that it is a module name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmation {
    /// `)` or `,`.
    Argument,
    /// `)` or `,` after the URL of a classic script, which may be relative without `./`.
    Script,
    /// `, import`.
    Url { comma: bool },
}

impl Script {
    /// A scanner for a script in a page with this import map.
    pub(super) fn new(names: super::manifest::ImportMap) -> Self {
        Self { names, ..Self::default() }
    }

    pub(super) fn write(&mut self, text: &str, gather: &mut Collector) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            // Long runs of characters that cannot change the state are skipped.
            let skipped = match self.state {
                ScriptState::LineComment => rest.find(['\n', '\r', '\u{2028}', '\u{2029}']),
                ScriptState::BlockComment { star: false } => rest.find('*'),
                ScriptState::Template { escaped: false, dollar: false } => {
                    rest.find(['`', '\\', '$'])
                }
                _ => Some(0),
            };
            let Some(skipped) = skipped else { return };
            if skipped > 0 {
                rest = rest.get(skipped..).unwrap_or_default();
                continue;
            }
            self.step(c, gather);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }

    pub(super) fn finish(mut self, gather: &mut Collector) {
        self.step('\n', gather);
    }

    fn step(&mut self, c: char, gather: &mut Collector) {
        self.state = match self.state {
            ScriptState::Code => return self.code(c, gather),
            ScriptState::Word if is_word(c) => return self.push(c),
            ScriptState::Word => {
                self.word(gather);
                return self.code(c, gather);
            }
            ScriptState::Slash => return self.slash(c, gather),
            ScriptState::LineComment if is_line_end(c) => ScriptState::Code,
            ScriptState::LineComment => ScriptState::LineComment,
            ScriptState::BlockComment { star: true } if c == '/' => ScriptState::Code,
            ScriptState::BlockComment { .. } => ScriptState::BlockComment { star: c == '*' },
            ScriptState::String { quote, escaped: false } if c == quote => {
                self.string(gather);
                ScriptState::Code
            }
            ScriptState::String { escaped: false, .. } if is_line_end(c) => ScriptState::Code,
            ScriptState::String { quote, escaped } => {
                // Module names with escapes do not occur in practice, so such a string is ignored.
                self.is_long |= c == '\\';
                self.push(c);
                ScriptState::String { quote, escaped: c == '\\' && !escaped }
            }
            ScriptState::Template { escaped: true, .. } => {
                ScriptState::Template { escaped: false, dollar: false }
            }
            ScriptState::Template { dollar, .. } => return self.template(c, dollar, gather),
            ScriptState::Regex { escaped: true, class } => {
                ScriptState::Regex { escaped: false, class }
            }
            ScriptState::Regex { class: false, .. } if c == '/' => {
                self.token(ScriptToken::Name, gather);
                ScriptState::Code
            }
            ScriptState::Regex { .. } if is_line_end(c) => ScriptState::Code,
            ScriptState::Regex { class, .. } => {
                ScriptState::Regex { escaped: c == '\\', class: c == '[' || class && c != ']' }
            }
        };
    }

    fn push(&mut self, c: char) {
        if self.text.len() < MAX_TEXT {
            self.text.push(c);
        } else {
            self.is_long = true;
        }
    }

    /// Handles a character outside strings and comments.
    fn code(&mut self, c: char, gather: &mut Collector) {
        self.state = ScriptState::Code;
        match c {
            '"' | '\'' => {
                self.begin();
                self.state = ScriptState::String { quote: c, escaped: false };
            }
            '`' => self.state = ScriptState::Template { escaped: false, dollar: false },
            '/' => self.state = ScriptState::Slash,
            c if is_word(c) => {
                self.begin();
                self.push(c);
                self.state = ScriptState::Word;
            }
            c if c.is_whitespace() || c == '\u{feff}' => {}
            c => self.punctuation(c, gather),
        }
    }

    fn begin(&mut self) {
        self.text.clear();
        self.is_long = false;
    }

    fn punctuation(&mut self, c: char, gather: &mut Collector) {
        if let Some(open) = self.templates.last_mut() {
            match c {
                '{' => *open = open.saturating_add(1),
                '}' if *open == 0 => {
                    self.templates.pop();
                    self.state = ScriptState::Template { escaped: false, dollar: false };
                    return;
                }
                '}' => *open -= 1,
                _ => {}
            }
        }
        self.token(ScriptToken::Punctuation(c), gather);
    }

    /// Handles the character after a slash. If it does not begin a comment, the token before the
    /// slash decides between a division and a regular expression.
    fn slash(&mut self, c: char, gather: &mut Collector) {
        match c {
            '/' => self.state = ScriptState::LineComment,
            '*' => self.state = ScriptState::BlockComment { star: false },
            _ => {
                let [_, _, last] = self.last;
                let divides = matches!(
                    last,
                    ScriptToken::Name
                        | ScriptToken::String
                        | ScriptToken::Meta
                        | ScriptToken::Url
                        | ScriptToken::From
                        | ScriptToken::Punctuation(')' | ']' | '}')
                );
                if divides {
                    self.token(ScriptToken::Punctuation('/'), gather);
                    self.code(c, gather);
                } else {
                    self.state = ScriptState::Regex { escaped: false, class: false };
                    self.step(c, gather);
                }
            }
        }
    }

    fn template(&mut self, c: char, dollar: bool, gather: &mut Collector) {
        match c {
            '`' => {
                self.token(ScriptToken::Name, gather);
                self.state = ScriptState::Code;
            }
            '{' if dollar && self.templates.len() < MAX_TEMPLATES => {
                self.templates.push(0);
                self.token(ScriptToken::Punctuation('{'), gather);
                self.state = ScriptState::Code;
            }
            c => self.state = ScriptState::Template { escaped: c == '\\', dollar: c == '$' },
        }
    }

    fn word(&mut self, gather: &mut Collector) {
        let [.., before] = self.last;
        let is_member = before == ScriptToken::Punctuation('.');
        let token = match self.text.as_str() {
            "meta" if is_member => ScriptToken::Meta,
            "importScripts" => ScriptToken::ImportScripts,
            _ if is_member => ScriptToken::Name,
            "import" => ScriptToken::Import,
            "from" => ScriptToken::From,
            "new" => ScriptToken::New,
            "URL" => ScriptToken::Url,
            "export" => {
                self.is_declaration = true;
                ScriptToken::Operator
            }
            "return" | "typeof" | "case" | "in" | "of" | "do" | "else" | "void" | "delete"
            | "throw" | "instanceof" | "yield" | "await" => ScriptToken::Operator,
            _ => ScriptToken::Name,
        };
        self.token(token, gather);
    }

    /// Records a token and checks whether it confirms the string before it.
    fn token(&mut self, token: ScriptToken, gather: &mut Collector) {
        self.is_argument = false;
        if let Some((name, proof)) = self.pending.take() {
            match (proof, token) {
                (Confirmation::Script, ScriptToken::Punctuation(c @ (')' | ','))) => {
                    self.is_argument = c == ',';
                    gather.add(&name, Class::Script);
                }
                (Confirmation::Argument, ScriptToken::Punctuation(')' | ',')) => {
                    self.module(&name, gather);
                }
                (Confirmation::Url { comma: false }, ScriptToken::Punctuation(',')) => {
                    self.pending = Some((name, Confirmation::Url { comma: true }));
                }
                (Confirmation::Url { comma: true }, ScriptToken::Import) => {
                    gather.add(&name, Class::of_name(&name).unwrap_or(Class::Data));
                }
                _ => {}
            }
        }
        match token {
            ScriptToken::Import => self.is_declaration = true,
            ScriptToken::Punctuation(';' | '=' | '(') => self.is_declaration = false,
            _ => {}
        }
        let [_, two, three] = self.last;
        self.last = [two, three, token];
    }

    fn string(&mut self, gather: &mut Collector) {
        let proof = match self.last {
            _ if self.is_long => None,
            [.., ScriptToken::Import] => {
                let name = std::mem::take(&mut self.text);
                self.module(&name, gather);
                None
            }
            [.., ScriptToken::From] if self.is_declaration => {
                self.is_declaration = false;
                let name = std::mem::take(&mut self.text);
                self.module(&name, gather);
                None
            }
            [_, ScriptToken::Import, ScriptToken::Punctuation('(')] => Some(Confirmation::Argument),
            [_, ScriptToken::ImportScripts, ScriptToken::Punctuation('(')] => {
                Some(Confirmation::Script)
            }
            _ if self.is_argument => Some(Confirmation::Script),
            [ScriptToken::New, ScriptToken::Url, ScriptToken::Punctuation('(')] => {
                Some(Confirmation::Url { comma: false })
            }
            _ => None,
        };
        self.token(ScriptToken::String, gather);
        self.pending = proof.map(|proof| (std::mem::take(&mut self.text), proof));
    }

    /// Reports a module. Its name is an absolute or relative URL, or a name of the import map.
    fn module(&mut self, name: &str, gather: &mut Collector) {
        let is_url =
            ["/", "./", "../", "http://", "https://"].iter().any(|start| name.starts_with(start));
        match self.names.resolve(name) {
            Some(url) => gather.add(&url, class_of(&url)),
            None if is_url => gather.add(name, class_of(name)),
            None => {}
        }
    }
}

/// The class of an imported module. Style sheets and data can be imported too.
fn class_of(name: &str) -> Class {
    match Class::of_name(name) {
        Some(class @ (Class::Stylesheet | Class::Data)) => class,
        _ => Class::Script,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '#'
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
