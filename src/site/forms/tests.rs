use super::{Undone, lists};

#[test]
fn what_is_wrong_with_the_machine_is_not_the_forms_fault() {
    use lists::NotDone::{Busy, Deleting, Export, NoRoom, Nothing};
    assert!(matches!(Undone::from(Busy), Undone::Busy(_)));
    assert!(matches!(Undone::from(Deleting), Undone::Busy(_)));
    assert!(matches!(Undone::from(NoRoom), Undone::NoRoom(_)));
    assert!(matches!(Undone::from(Nothing), Undone::Nothing { .. }));
    assert!(matches!(Undone::from(Export(String::new())), Undone::Bad(_)));
}
