//! URLs: canonical form, references, URIs.
