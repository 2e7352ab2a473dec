use super::{FormError, lists};

#[test]
fn a_system_error_is_not_a_form_error() {
    use lists::EntryActionError::{Busy, Deleting, Export, NoRoom, Nothing};
    assert!(matches!(FormError::from(Busy), FormError::Busy(_)));
    assert!(matches!(FormError::from(Deleting), FormError::Busy(_)));
    assert!(matches!(FormError::from(NoRoom), FormError::NoRoom(_)));
    assert!(matches!(FormError::from(Nothing), FormError::Nothing { .. }));
    assert!(matches!(FormError::from(Export(String::new())), FormError::Bad(_)));
}
