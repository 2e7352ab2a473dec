//! Enums whose variants have names.

/// Declares an enum from its variants and their names: `ALL`, `name` and `Display`.
macro_rules! words {
    ($(#[$meta:meta])* $Name:ident: $($(#[$doc:meta])* $Word:ident = $word:literal,)+) => {
        $(#[$meta])*
        pub enum $Name { $($(#[$doc])* $Word,)+ }

        impl $Name {
            /// All values, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$Word),+];

            /// The name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Word => $word),+ }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use words;
