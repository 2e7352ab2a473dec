//! Quotas in words.

use crate::base::shown;
use crate::base::statistics::usage::QuotaUse;
use crate::base::text::{Text, count, row, tr};
use wwwoffle_config::{QuotaMeasure, QuotaPeriod};

/// A quota: an amount in a time.
pub(crate) fn limit(measure: QuotaMeasure, period: QuotaPeriod, most: u64) -> Text {
    let text = match period {
        QuotaPeriod::Day => tr("{amount} per day"),
        QuotaPeriod::Month => tr("{amount} per month"),
    };
    text.with("amount", amount(measure, most))
}

/// An amount, used or allowed.
pub(crate) fn amount(measure: QuotaMeasure, number: u64) -> Text {
    match measure {
        QuotaMeasure::Bytes => row([shown::bytes(number).into()]),
        QuotaMeasure::Requests => count(number, "{n} request", "{n} requests"),
        QuotaMeasure::Queued => count(number, "{n} queued request", "{n} queued requests"),
    }
}

/// The notice about the first of `uses` of which little or nothing is left.
pub(crate) fn notice(uses: &[QuotaUse]) -> Option<Text> {
    let reached = uses.iter().find(|used| used.is_reached());
    let QuotaUse { limit: quota, used } = reached.or(uses.iter().find(|used| used.is_near()))?;
    let text = if reached.is_some() {
        tr("Your quota of {limit} is used up.")
    } else {
        tr("You have used {used} of your quota of {limit}.")
    };
    let text = text.with("used", amount(quota.measure, *used));
    Some(text.with("limit", limit(quota.measure, quota.period, quota.most)))
}
