//! The `plural` expression of a `Plural-Forms` header, which selects the plural form for a number.
//!
//! The expression is written in C with the variable `n`, for example `n%10==1 && n%100!=11 ? 0 :
//! 1`.

/// Binary operators of the same precedence, with their functions.
type Operators = &'static [(&'static str, fn(u64, u64) -> Option<u64>)];

/// All binary operators, from the lowest to the highest precedence.
const OPERATORS: [Operators; 6] = [
    &[("||", |a, b| Some(u64::from(a != 0 || b != 0)))],
    &[("&&", |a, b| Some(u64::from(a != 0 && b != 0)))],
    &[("==", |a, b| Some(u64::from(a == b))), ("!=", |a, b| Some(u64::from(a != b)))],
    &[
        ("<=", |a, b| Some(u64::from(a <= b))),
        (">=", |a, b| Some(u64::from(a >= b))),
        ("<", |a, b| Some(u64::from(a < b))),
        (">", |a, b| Some(u64::from(a > b))),
    ],
    &[("+", u64::checked_add), ("-", u64::checked_sub)],
    &[("*", u64::checked_mul), ("/", u64::checked_div), ("%", u64::checked_rem)],
];

/// Maximum length of an expression in bytes. The longest one of a real language, Arabic, has about
/// 100 bytes.
const MOST_BYTES: usize = 500;

/// Evaluates an expression for a number; `None` if it is invalid.
pub(super) fn form(expression: &str, number: u64) -> Option<u64> {
    let mut reader = PluralReader { rest: expression, number };
    let form = (expression.len() <= MOST_BYTES).then(|| reader.choice())??;
    reader.rest.trim().is_empty().then_some(form)
}

struct PluralReader<'a> {
    rest: &'a str,
    number: u64,
}

impl PluralReader<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads `condition ? form : form`, or a value.
    fn choice(&mut self) -> Option<u64> {
        let condition = self.binary(&OPERATORS)?;
        if !self.takes("?") {
            return Some(condition);
        }
        let yes = self.choice()?;
        let no = self.takes(":").then(|| self.choice())??;
        Some(if condition == 0 { no } else { yes })
    }

    fn binary(&mut self, operators: &[Operators]) -> Option<u64> {
        let Some((loosest, tighter)) = operators.split_first() else { return self.unary() };
        let mut left = self.binary(tighter)?;
        while let Some((_, apply)) = loosest.iter().find(|(sign, _)| self.takes(sign)) {
            left = apply(left, self.binary(tighter)?)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<u64> {
        if self.takes("!") {
            return Some(u64::from(self.unary()? == 0));
        }
        if self.takes("(") {
            let value = self.choice()?;
            return self.takes(")").then_some(value);
        }
        if self.takes("n") {
            return Some(self.number);
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, rest) = rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::form;

    #[test]
    fn forms_of_numbers_in_various_languages() {
        for (expression, want) in [
            ("0", "00000000"),
            ("n != 1", "10111111"),
            ("(n > 1)", "00111111"),
            ("n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2", "20122221"),
            (
                "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2)",
                "20122021",
            ),
            (
                "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
                "01234445",
            ),
            ("!n + 3 * 2 - 10 / 2", "21111111"),
        ] {
            let got: String = [0, 1, 2, 5, 11, 21, 25, 102]
                .map(|number| form(expression, number).unwrap().to_string())
                .concat();
            assert_eq!(got, want, "{expression}");
        }
    }

    #[test]
    fn an_invalid_expression_has_no_form() {
        let deep = "(".repeat(100_000);
        for invalid in
            ["", "n n", "n ?", "n ? 1", "(n", "n %", "n % 0", "m", "n = 1", "0 - 1", &deep]
        {
            assert_eq!(form(invalid, 3), None, "{}", invalid.get(..20).unwrap_or(invalid));
        }
    }
}
