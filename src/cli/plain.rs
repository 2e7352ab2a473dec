//! Writes a body to the output, decoded or unchanged.

use std::io::Write;

use super::failure::{VerbFailure, VerbResult};
use crate::base::error_chain::error_chain;
use wwwoffle_http::decoding::{Coding, Decoder, Output};

/// The size of the buffer for decoded bytes.
const PIECE: usize = 64 * 1024;

/// A writer that decodes a body and writes it to `to`.
pub(super) struct Plain<'a> {
    decoder: Decoder,
    output: Vec<u8>,
    to: &'a mut dyn Write,
}

impl<'a> Plain<'a> {
    /// Creates a writer that decodes `codings` in this order. Without codings, the body is written
    /// unchanged.
    pub(super) fn new(codings: &[Coding], to: &'a mut dyn Write) -> Self {
        Self { decoder: Decoder::new(codings), output: vec![0; PIECE], to }
    }

    /// Decodes and writes the next bytes of the body.
    pub(super) fn write(&mut self, bytes: &[u8]) -> VerbResult<()> {
        self.decode(bytes, false)
    }

    /// Ends the body, and fails if it is truncated.
    pub(super) fn finish(mut self) -> VerbResult<()> {
        self.decode(&[], true)
    }

    fn decode(&mut self, mut input: &[u8], is_last: bool) -> VerbResult<()> {
        loop {
            match self.decoder.decode(&mut input, is_last, &mut self.output) {
                Ok(Output::Bytes(length)) => {
                    self.to.write_all(self.output.get(..length).unwrap_or_default())?;
                }
                Ok(Output::Busy) => {}
                Ok(Output::Hungry | Output::End) => return Ok(()),
                Err(fault) => {
                    let why = error_chain(&fault);
                    return Err(VerbFailure::plain(format_args!(
                        "{why}: `--raw` prints it as stored"
                    )));
                }
            }
        }
    }
}
