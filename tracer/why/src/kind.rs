//! The kinds of verdicts, by their registry.

macro_rules! kinds {
    ($($kind:ident = $name:ident, $meaning:literal;)*) => {
        /// A kind of verdict.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum VerdictKind {
            $(#[doc = $meaning] $kind,)*
        }

        impl VerdictKind {
            /// Every kind.
            pub const ALL: [VerdictKind; [$($meaning),*].len()] = [$(VerdictKind::$kind),*];

            /// The name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(VerdictKind::$kind => stringify!($name),)*
                }
            }
        }
    };
}

crate::for_each_verdict!(kinds);
