//! Variants, updates, removals and crashes in any order, compared with a model that is a map.
//!
//! The model knows the possible states of each place. In normal operation there is one. There are
//! more if a call failed halfway, or if a change is only promised from the next flush on.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test"
)]

mod support;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use support::sim::{Fault, SimDisk};
use support::{entry, options, place};
use wwwoffle_spool::{Durability, Entry, Place, Result, Spool, Timestamp, Update};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

/// The number of power cuts after each stop. Each power cut loses different data, chosen at random.
const CUTS: u64 = 2;

const VARIANTS: [&str; 3] = ["", "accept-language: de", "accept-language: en\n"];

/// A place: the numbers of one of two owners and one of three variants.
type Slot = (usize, usize);

/// The state of a place. Each number identifies a body, a head or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SlotState {
    body: u8,
    large: bool,
    head: u8,
    invalid: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Store(Slot, bool),
    Confirm(Slot),
    Invalidate(Slot),
    Remove(Slot),
    RemoveAll(usize),
    Flush,
    Reopen,
}

#[derive(Debug, Default, Clone)]
struct Model {
    /// The possible states after a power failure; the last is the state if nothing fails.
    may: BTreeMap<Slot, Vec<Option<SlotState>>>,
    /// The possible states after a stop of the program.
    stopped: BTreeMap<Slot, Vec<Option<SlotState>>>,
    /// Whether a disk call has failed. Entries that waited for a batch may then have been
    /// discarded.
    lossy: bool,
}

impl Model {
    /// Records a change of a place. `done`: the change has happened. `lasting`: no power cut undoes
    /// it.
    fn set(&mut self, slot: Slot, state: Option<SlotState>, done: bool, lasting: bool) {
        for (states, certain) in [(&mut self.may, done && lasting), (&mut self.stopped, done)] {
            let states = states.entry(slot).or_insert_with(|| vec![None]);
            if certain {
                states.clear();
            }
            states.push(state);
        }
    }

    /// The model in case only the program stops.
    fn without_power_cut(&self) -> Model {
        Model { may: self.stopped.clone(), ..self.clone() }
    }

    fn settle(&mut self) {
        if !self.lossy {
            // Removals are not guaranteed to last.
            for states in self.may.values_mut().filter(|states| states.last() != Some(&None)) {
                states.drain(..states.len() - 1);
            }
        }
    }
}

fn root() -> &'static Path {
    Path::new("/spool")
}

fn open(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    Ok(Spool::open_with(Arc::new(disk.clone()), root(), &options(durability))?.0)
}

fn at((owner, variant): Slot) -> Place {
    let owner = ["", "user anna"][owner];
    place("http://a/").owned_by(owner).with_variant(VARIANTS[variant])
}

fn head(body: u8, number: u8) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nX-Body: {body:03}\r\nETag: {number:03}\r\n\r\n").into_bytes()
}

fn body(state: SlotState) -> Vec<u8> {
    vec![state.body; if state.large { 135_000 } else { 300 }]
}

fn time(number: u8) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::from(number)).unwrap()
}

/// The state that the head of an entry names.
fn said(entry: &Entry) -> SlotState {
    let digits = |start: usize| std::str::from_utf8(&entry.head()[start..][..3]).unwrap();
    let number = |time: Timestamp| u8::try_from(time.as_second() - 1_700_000_000).unwrap();
    SlotState {
        body: digits("HTTP/1.1 200 OK\r\nX-Body: ".len()).parse().unwrap(),
        large: entry.body_len() > 300,
        head: digits("HTTP/1.1 200 OK\r\nX-Body: 000\r\nETag: ".len()).parse().unwrap(),
        invalid: entry.invalid_since().map(number),
    }
}

/// The state of an entry. Also checks the body.
fn state(entry: &Entry) -> SlotState {
    let state = said(entry);
    assert!(support::body(entry) == Some(body(state)), "{state:?} has another body");
    state
}

/// Every entry found, by place, and the number of entries that were set aside. If `careless`, a
/// large entry may have a damaged body, and is then ignored.
fn found(spool: &Spool, careless: bool) -> (BTreeMap<Slot, SlotState>, usize) {
    let (mut found, mut set_aside) = (BTreeMap::new(), 0);
    for owner in 0..2 {
        let entries = spool.entries(&at((owner, 0))).unwrap();
        set_aside += entries.set_aside.len();
        for entry in &entries.found {
            let variant = VARIANTS.iter().position(|text| *text == entry.place().variant_text());
            let slot = (owner, variant.unwrap());
            assert_eq!(*entry.place(), at(slot));
            let state = if careless && support::body(entry).is_none() {
                assert!(said(entry).large, "a small body is damaged");
                continue;
            } else {
                state(entry)
            };
            assert!(found.insert(slot, state).is_none(), "{slot:?} is there twice");
        }
    }
    (found, set_aside)
}

/// Compares every kind of lookup with the model.
fn check(spool: &Spool, model: &Model, careless: bool, what: &str) {
    let (found, set_aside) = found(spool, careless);
    if careless {
        return;
    }
    assert_eq!(set_aside, 0, "{what}");
    for slot in (0..6).map(|number| (number / 3, number % 3)) {
        let here = found.get(&slot).copied();
        let may = model.may.get(&slot).map_or(&[None][..], Vec::as_slice);
        assert!(may.contains(&here), "{what}: {slot:?} is {here:?}, not of {may:?}");
        let exact = spool.entry(&at(slot)).unwrap().found();
        if slot.1 > 0 {
            assert_eq!(exact.as_ref().map(state), here, "{what}: {slot:?}");
        }
    }
    let mut listed: Vec<_> =
        spool.list(None, None).unwrap().map(|summary| summary.unwrap().place).collect();
    listed.sort_by_key(Place::relative_path);
    let mut expected: Vec<_> = found.keys().map(|slot| at(*slot)).collect();
    expected.sort_by_key(Place::relative_path);
    assert_eq!(listed, expected, "{what}");
}

/// Does one step and records it in the model. Returns false if it failed.
fn act(spool: &Spool, model: &mut Model, op: Op, number: u8, lasting: bool) -> bool {
    let done = match op {
        Op::Store(slot, large) => {
            let new = SlotState { body: number, large, head: number, invalid: None };
            let done = store(spool, slot, new);
            model.set(slot, Some(new), done.is_ok(), lasting);
            done
        }
        Op::Confirm(slot) | Op::Invalidate(slot) => update(spool, model, op, slot, number, lasting),
        Op::Remove(slot) => {
            let done = spool.remove_variant(&at(slot));
            model.set(slot, None, done.is_ok(), lasting);
            done.map(|_| ())
        }
        Op::RemoveAll(owner) => {
            let done = spool.remove(&at((owner, 1)));
            (0..3).for_each(|variant| model.set((owner, variant), None, done.is_ok(), lasting));
            done.map(|_| ())
        }
        Op::Flush => {
            let done = spool.flush();
            if done.is_ok() {
                model.settle();
            }
            done
        }
        Op::Reopen => Ok(()),
    };
    model.lossy |= done.is_err();
    done.is_ok()
}

fn store(spool: &Spool, slot: Slot, new: SlotState) -> Result<()> {
    let mut writer = spool.begin(&at(slot), entry(&head(new.body, new.head)))?;
    writer.write(&body(new))?;
    writer.finish(None).map(|_| ())
}

fn update(
    spool: &Spool,
    model: &mut Model,
    op: Op,
    slot: Slot,
    number: u8,
    lasting: bool,
) -> Result<()> {
    let entries = spool.entries(&at(slot))?.found;
    let Some(entry) = entries.iter().find(|entry| *entry.place() == at(slot)) else {
        return Ok(());
    };
    let old = said(entry);
    let (update, new) = if matches!(op, Op::Confirm(_)) {
        let (asked, responded) = (time(number), time(number));
        let update = Update::Confirmed { head: head(old.body, number), asked, responded };
        (update, SlotState { head: number, invalid: None, ..old })
    } else {
        let invalid = Some(old.invalid.unwrap_or(number));
        (Update::Invalid { since: time(number) }, SlotState { invalid, ..old })
    };
    let done = spool.update(entry, &update);
    if matches!(done, Ok(None)) {
        // Nothing else replaces or removes the entry here. So `None` means that its batch could not
        // be written.
        return Err(spool.failures().pop().expect("a reason"));
    }
    model.set(slot, Some(new), done.is_ok(), lasting);
    assert_eq!(done?.as_ref().map(said), Some(new));
    Ok(())
}

/// Does every step. After a failure the next step is still tried.
fn run(
    disk: &SimDisk,
    durability: Durability,
    ops: &[Op],
    mut model: Model,
    each: impl Fn(&Spool, &Model),
    lasting: bool,
) -> (Model, bool) {
    let mut all = true;
    let Ok(mut spool) = open(disk, durability) else { return (model, false) };
    for (number, op) in (100..).zip(ops) {
        if matches!(op, Op::Reopen) {
            drop(spool);
            match open(disk, durability) {
                Ok(opened) => spool = opened,
                Err(_) => return (model, false),
            }
        }
        all &= act(&spool, &mut model, *op, number, lasting);
        each(&spool, &model);
    }
    all &= spool.failures().is_empty();
    (model, all)
}

/// The state before each run: a large single entry with an update file, and a small entry of
/// another owner.
fn base() -> (SimDisk, Model) {
    let disk = SimDisk::new();
    let ops = [Op::Store((0, 0), true), Op::Confirm((0, 0)), Op::Store((1, 0), false)];
    let (model, all) = run(&disk, Durability::Each, &ops, Model::default(), |_, _| {}, true);
    assert!(all);
    (disk.restarted(), model)
}

/// Every step that moves, replaces or removes a file.
const SCRIPT: [Op; 21] = [
    Op::Invalidate((0, 0)),
    Op::Store((0, 1), false),
    Op::Confirm((0, 1)),
    Op::Invalidate((0, 1)),
    Op::Store((0, 0), false),
    Op::Flush,
    Op::Confirm((0, 0)),
    Op::Invalidate((1, 0)),
    Op::Store((1, 2), true),
    Op::Flush,
    Op::Remove((0, 1)),
    Op::Store((0, 2), true),
    Op::Confirm((0, 2)),
    Op::Store((0, 2), true),
    Op::Flush,
    Op::Confirm((0, 2)),
    Op::RemoveAll(0),
    Op::Store((0, 0), true),
    Op::Confirm((0, 0)),
    Op::Remove((1, 2)),
    Op::Remove((1, 0)),
];

fn check_after(disk: &SimDisk, durability: Durability, model: &Model, careless: bool, what: &str) {
    let spool = open(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    check(&spool, model, careless, what);
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
    if careless {
        return;
    }
    // The remains of a crash are harmless: they can be replaced, and all of them removed.
    let mut model = Model::default();
    for (slot, state) in found(&spool, false).0 {
        model.set(slot, Some(state), true, true);
    }
    for slot in [(0, 0), (0, 1)] {
        assert!(act(&spool, &mut model, Op::Store(slot, false), 99, true), "{what}");
        assert!(act(&spool, &mut model, Op::Confirm(slot), 98, true), "{what}");
    }
    assert!(act(&spool, &mut model, Op::Flush, 97, true), "{what}");
    check(&spool, &model, false, what);
    for owner in 0..2 {
        assert!(act(&spool, &mut model, Op::RemoveAll(owner), 96, true), "{what}");
    }
    check(&spool, &model, false, what);
}

/// Stops at every call. Checks a restart and power cuts after each.
fn stop_everywhere(durability: Durability, ops: &[Op]) {
    let (base, start) = base();
    for call in 0.. {
        let disk = base.restarted();
        disk.set_fault(Fault::Stop(call));
        let lasting = durability == Durability::Each;
        let (model, _) = run(&disk, durability, ops, start.clone(), |_, _| {}, lasting);
        let calls = disk.calls();
        let what = format!("{durability:?}, stopped at {call}");
        check_after(&disk.restarted(), durability, &model.without_power_cut(), false, &what);
        for seed in 0..CUTS {
            let after = disk.after_power_cut(call * CUTS + seed);
            let what = format!("{durability:?}, power cut at {call}, seed {seed}");
            check_after(&after, durability, &model, durability == Durability::None, &what);
        }
        if calls <= call {
            assert!(calls > 100, "{calls}");
            return;
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_crash_undoes_no_durable_change() {
    for durability in DURABILITIES {
        stop_everywhere(durability, &SCRIPT);
    }
}

#[test]
#[ignore = "slow"]
fn an_error_leaves_the_old_or_the_new_version() {
    for durability in DURABILITIES {
        let (base, start) = base();
        // A denied permission may also mean that the file system has no links. Then a file can have
        // only one name.
        for (kind, step) in [(ErrorKind::StorageFull, 1), (ErrorKind::PermissionDenied, 3)] {
            for call in (0..).step_by(step) {
                let disk = base.restarted();
                disk.set_fault(Fault::Fail(call, kind));
                let lasting = durability != Durability::Batch;
                let (model, all) =
                    run(&disk, durability, &SCRIPT, start.clone(), |_, _| {}, lasting);
                let calls = disk.calls();
                disk.set_fault(Fault::Never);
                let what = format!("{durability:?}, {kind:?} at {call}");
                check_after(&disk.restarted(), durability, &model, false, &what);
                if calls <= call {
                    assert!(all, "{what}");
                    break;
                }
            }
        }
    }
}

fn slot() -> impl Strategy<Value = Slot> {
    (0..2_usize, 0..3_usize)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (slot(), any::<bool>()).prop_map(|(slot, large)| Op::Store(slot, large)),
        3 => slot().prop_map(Op::Confirm),
        2 => slot().prop_map(Op::Invalidate),
        1 => slot().prop_map(Op::Remove),
        1 => (0..2_usize).prop_map(Op::RemoveAll),
        2 => Just(Op::Flush),
        1 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[ignore = "slow"]
    fn any_order_of_calls_agrees_with_the_model(
        ops in proptest::collection::vec(op(), 1..30),
        durability in prop::sample::select(&DURABILITIES[..]),
    ) {
        let disk = SimDisk::new();
        let each = |spool: &Spool, model: &Model| check(spool, model, false, "after a call");
        let (_, all) = run(&disk, durability, &ops, Model::default(), each, true);
        prop_assert!(all);
    }

    #[test]
    #[ignore = "slow"]
    fn any_order_of_calls_may_be_cut_off(
        ops in proptest::collection::vec(op(), 1..20),
        durability in prop::sample::select(&DURABILITIES[..2]),
        call in 0..400_u64,
        seed in any::<u32>(),
    ) {
        let (disk, start) = base();
        disk.set_fault(Fault::Stop(call));
        let lasting = durability == Durability::Each;
        let (model, _) = run(&disk, durability, &ops, start, |_, _| {}, lasting);
        disk.set_fault(Fault::Never);
        let after = disk.after_power_cut(u64::from(seed));
        check_after(&after, durability, &model, false, "after a power cut");
    }
}
