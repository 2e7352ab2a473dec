use super::*;

#[test]
fn delays_grow_up_to_a_limit() {
    let first = Duration::from_secs(2);
    let delays: Vec<_> = (1..=12).map(|n| delay(first, n).as_secs()).collect();
    assert_eq!(delays, [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
    assert_eq!(delay(first, u32::MAX), MAX_DELAY);
}

#[test]
fn trouble_of_the_origin_may_pass_and_refusals_do_not() {
    for (status, reason, passes) in [
        (503, NotKept::OriginError, true),
        (429, NotKept::AboutTheRequest, true),
        (401, NotKept::AboutTheRequest, false),
        (404, NotKept::WouldReplaceGood, false),
        (200, NotKept::Endless, false),
    ] {
        let verdict = not_kept(StatusCode::from_u16(status).unwrap(), reason);
        assert_eq!(matches!(verdict, Verdict::Again { .. }), passes, "{status}");
    }
}
