//! Enums whose variants have names.

/// Declares an enum with a name for each variant, which `as_str` returns and `Display` writes.
/// `ALL` has the variants.
///
/// ```
/// wwwoffle_url::named! {
///     /// A content coding.
///     #[derive(Clone, Copy)]
///     pub enum Coding {
///         /// RFC 8878.
///         Zstd = "zstd",
///         /// RFC 7932.
///         Brotli = "br",
///     }
/// }
///
/// assert_eq!(Coding::Brotli.as_str(), "br");
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $Name:ident {
            $( $(#[$doc:meta])* $Variant:ident = $name:literal, )+
        }
    ) => {
        $(#[$meta])*
        $visibility enum $Name { $( $(#[$doc])* $Variant, )+ }

        impl $Name {
            /// All variants, in the order of their declaration.
            $visibility const ALL: [Self; [$( $name ),+].len()] = [$( Self::$Variant ),+];

            /// The name.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self { $( Self::$Variant => $name, )+ }
            }
        }

        impl ::std::fmt::Display for $Name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
