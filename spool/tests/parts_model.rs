//! Segments against a simple model: which bytes of which body are stored after any sequence of
//! segments, broken transfers, completions, removals, kills and openings.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test and its model"
)]

mod support;

use std::ops::Range;

use proptest::prelude::*;
use support::{entry, head, open, place};
use wwwoffle_spool::{Durability, MAX_SEGMENTS, NewSegment, Spool};

const URL: &str = "http://example.org/film";
const LEN: usize = 400;

#[derive(Debug, Clone)]
enum Step {
    /// A segment of the body with this number, with or without its complete length.
    Segment {
        body: u8,
        range: Range<usize>,
        knows: bool,
        cut: bool,
    },
    /// A complete response, which may break off.
    Whole {
        body: u8,
        len: usize,
    },
    Discard(Range<usize>),
    Complete,
    Remove,
    RemoveParts,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..LEN, 0..LEN).prop_map(|(a, b)| a.min(b)..a.max(b));
    let step = prop_oneof![
        12 => (0_u8..20, range(), any::<bool>(), any::<bool>()).prop_map(|(n, range, knows, cut)| {
            Step::Segment { body: u8::from(n == 0), range, knows, cut }
        }),
        2 => (0_u8..8, 0..=LEN).prop_map(|(n, len)| Step::Whole { body: u8::from(n == 0), len }),
        1 => range().prop_map(Step::Discard),
        2 => Just(Step::Complete),
        1 => Just(Step::Remove),
        1 => Just(Step::RemoveParts),
        2 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..60)
}

/// The expected state.
#[derive(Debug, Default)]
struct Model {
    /// The number of the incomplete body, and which of its bytes are stored.
    parts: Option<(u8, Vec<bool>)>,
    /// The number of the complete body.
    whole: Option<u8>,
    segments: usize,
}

impl Model {
    fn add(&mut self, body: u8, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        if self.parts.as_ref().is_none_or(|parts| parts.0 != body) {
            self.parts = Some((body, vec![false; LEN]));
            self.segments = 0;
        }
        self.segments += 1;
        self.parts.as_mut().unwrap().1[range].fill(true);
    }

    fn is_complete(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.1.iter().all(|there| *there))
    }
}

fn bytes(body: u8) -> Vec<u8> {
    support::bytes(LEN).iter().map(|byte| byte ^ body).collect()
}

fn validator(body: u8) -> Vec<u8> {
    format!("\"{body}\"").into_bytes()
}

fn begin(spool: &Spool, body: u8, start: usize, knows: bool) -> wwwoffle_spool::SegmentWriter {
    let new = NewSegment {
        entry: entry(&head(206)),
        validator: validator(body),
        complete_length: knows.then_some(LEN as u64),
        start: start as u64,
    };
    spool.begin_segment(&place(URL), new).unwrap()
}

fn take(spool: &Spool, step: &Step, model: &mut Model) {
    match step.clone() {
        Step::Segment { body, range, knows, cut } => {
            let mut writer = begin(spool, body, range.start, knows);
            writer.write(&bytes(body)[range.clone()]).unwrap();
            if cut { writer.finish_short() } else { writer.finish() }.unwrap();
            model.add(body, range);
        }
        Step::Whole { body, len } => {
            let (new, validator) = (entry(&head(200)), validator(body));
            let length = Some(LEN as u64);
            let mut writer = spool.begin_resumable(&place(URL), new, &validator, length).unwrap();
            writer.write(&bytes(body)[..len]).unwrap();
            if len == LEN {
                writer.finish(None).unwrap();
                (model.whole, model.parts) = (Some(body), None);
            } else {
                assert_eq!(writer.finish_short().unwrap(), len > 0);
                model.add(body, 0..len);
            }
        }
        Step::Discard(range) => {
            let mut writer = begin(spool, 0, range.start, true);
            writer.write(&bytes(0)[range]).unwrap();
            writer.discard();
        }
        Step::Complete => {
            let partial = spool.partial(&place(URL)).unwrap();
            let done = partial.and_then(|it| spool.complete(&it, head(200)).unwrap());
            // The model does not record whether the complete length of a body is known.
            assert!(done.is_none() || model.is_complete());
            if done.is_some() {
                (model.whole, model.parts) = (model.parts.take().map(|parts| parts.0), None);
            }
        }
        Step::Remove => {
            let was = model.whole.is_some() || model.parts.is_some();
            assert_eq!(spool.remove(&place(URL)).unwrap(), was);
            (model.whole, model.parts) = (None, None);
        }
        Step::RemoveParts => {
            assert_eq!(spool.remove_partial(&place(URL)).unwrap(), model.parts.is_some());
            model.parts = None;
        }
        Step::Reopen => {}
    }
    if model.parts.is_none() {
        model.segments = 0;
    }
}

/// Compares the spool with the model.
fn compare(spool: &Spool, model: &Model) {
    let found = spool.entry(&place(URL)).unwrap().found();
    let found = found.map(|entry| support::body(&entry).unwrap());
    assert_eq!(found, model.whole.map(bytes));
    let partial = spool.partial(&place(URL)).unwrap();
    let Some((body, there)) = &model.parts else {
        assert!(partial.is_none());
        return;
    };
    let partial = partial.unwrap();
    assert_eq!(partial.validator(), validator(*body));
    let mut reader = partial.verified();
    for (offset, there) in there.iter().enumerate() {
        let mut byte = [0];
        let read = reader.read_at(offset as u64, &mut byte).unwrap();
        assert_eq!(read == 1, *there, "{offset} of {:?}", partial.ranges());
        assert!(read == 0 || byte[0] == bytes(*body)[offset]);
    }
    let missing: usize = partial
        .missing(&(0..LEN as u64))
        .iter()
        .map(|range| (range.end - range.start) as usize)
        .sum();
    assert_eq!(missing, there.iter().filter(|there| !**there).count());
    let listed = spool.partials().unwrap().map(Result::unwrap).next().unwrap();
    assert!((1..=MAX_SEGMENTS).contains(&listed.segments));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    #[ignore = "slow"]
    fn segments_agree_with_the_model(steps in steps(), is_batch in any::<bool>()) {
        let durability = if is_batch { Durability::Batch } else { Durability::None };
        let root = tempfile::tempdir().unwrap();
        let mut spool = open(root.path(), durability);
        let mut model = Model::default();
        for step in &steps {
            if matches!(step, Step::Reopen) {
                drop(spool);
                spool = open(root.path(), durability);
            }
            take(&spool, step, &mut model);
            // Under `Batch` the segments stay until the entry is durable.
            spool.flush().unwrap();
            compare(&spool, &model);
            // From this number of segments on, the oldest may be removed if none touch. The model
            // does not represent this.
            if model.segments >= MAX_SEGMENTS {
                break;
            }
        }
    }
}
