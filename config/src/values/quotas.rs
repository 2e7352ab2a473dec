//! Quotas: the amount that each user and client may use in a day or a month, and their speed.

use super::amounts::Size;
use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, elements},
};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The smallest rate, in bytes per second. A slower download would count as stalled.
const MIN_RATE: u64 = 10_000;

wwwoffle_url::named! {
    /// The measure of a quota.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QuotaMeasure {
        /// Bytes of bodies that were fetched from origins.
        Bytes = "bytes",
        /// Requests to origins, and tunnels.
        Requests = "requests",
        /// Requests that were added to the queue.
        Queued = "queued",
    }
}

wwwoffle_url::named! {
    /// The period of a quota.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QuotaPeriod {
        /// A day, in the time zone of the system.
        Day = "day",
        /// A calendar month.
        Month = "month",
    }
}

/// The limits for each user and client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas(Vec<QuotaEntry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct QuotaEntry {
    holder: QuotaHolder,
    amount: QuotaAmount,
}

/// The users and clients of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
enum QuotaHolder {
    Everyone,
    Network(IpNet),
    User(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuotaAmount {
    Limit(QuotaLimit),
    /// Bytes per second.
    Rate(u64),
}

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaLimit {
    /// The measure.
    pub measure: QuotaMeasure,
    /// The period after which the quota is renewed.
    pub period: QuotaPeriod,
    /// The number of bytes or requests.
    pub most: u64,
}

impl Quotas {
    /// Whether there are no limits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The limits for a user, or for a client without a login at `client`. This machine has no
    /// address here, and is found by its loopback addresses. The first entry that matches decides,
    /// for each measure and period.
    #[must_use]
    pub fn limits(&self, user: Option<&str>, client: Option<IpAddr>) -> Vec<QuotaLimit> {
        let mut limits: Vec<QuotaLimit> = Vec::new();
        for entry in self.0.iter().filter(|entry| entry.holder.includes(user, client)) {
            if let QuotaAmount::Limit(limit) = entry.amount
                && !limits
                    .iter()
                    .any(|known| (known.measure, known.period) == (limit.measure, limit.period))
            {
                limits.push(limit);
            }
        }
        limits
    }

    /// The rate for a user or client, in bytes per second; see [`Quotas::limits`].
    #[must_use]
    pub fn rate(&self, user: Option<&str>, client: Option<IpAddr>) -> Option<u64> {
        self.0.iter().filter(|entry| entry.holder.includes(user, client)).find_map(|entry| {
            match entry.amount {
                QuotaAmount::Rate(rate) => Some(rate),
                QuotaAmount::Limit(_) => None,
            }
        })
    }
}

impl QuotaHolder {
    fn includes(&self, user: Option<&str>, client: Option<IpAddr>) -> bool {
        match self {
            Self::Everyone => true,
            Self::User(name) => user == Some(name),
            Self::Network(_) if user.is_some() => false,
            Self::Network(network) => match client {
                Some(client) => network.contains(&client.to_canonical()),
                None => [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
                    .iter()
                    .any(|here: &IpAddr| network.contains(here)),
            },
        }
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text.split_once('/') {
            _ if text == "*" => Ok(Self::Everyone),
            // A user name may contain a slash, an address may not.
            Some((address, _)) if address.parse::<IpAddr>().is_ok() => {
                let network: IpNet = text.parse().map_err(|_| "it is not a network")?;
                Ok(Self::Network(network.trunc()))
            }
            _ if text.is_empty() || text.chars().any(char::is_control) => Err(""),
            _ => match text.parse::<IpAddr>() {
                Ok(address) => Ok(Self::Network(address.to_canonical().into())),
                Err(_) if text.contains(':') => Err("a user name has no \":\""),
                Err(_) => Ok(Self::User(text.to_owned())),
            },
        }
    }
}

impl QuotaEntry {
    fn parse(text: &str) -> Result<Self, &'static str> {
        // A user name has no colon, so the last one with a blank ends it.
        let (holder, amount) =
            text.rsplit_once(": ").ok_or("it has no \": \" after the user or client")?;
        let (amount, period) = amount.rsplit_once(" per ").ok_or("the period is missing")?;
        let (holder, amount) = (QuotaHolder::parse(holder.trim())?, amount.trim());
        let (measure, most) = match amount.rsplit_once(' ') {
            Some((number, "requests")) => (QuotaMeasure::Requests, count(number)?),
            Some((number, "queued")) => (QuotaMeasure::Queued, count(number)?),
            _ => (QuotaMeasure::Bytes, Size::parse(amount)?.bytes()),
        };
        let period = match period.trim() {
            "day" => QuotaPeriod::Day,
            "month" => QuotaPeriod::Month,
            "second" if measure != QuotaMeasure::Bytes => {
                return Err("only bytes are limited per second");
            }
            "second" if most < MIN_RATE => return Err("a rate is at least 10 kB per second"),
            "second" => return Ok(Self { holder, amount: QuotaAmount::Rate(most) }),
            _ => return Err("the periods are \"second\", \"day\" and \"month\""),
        };
        Ok(Self { holder, amount: QuotaAmount::Limit(QuotaLimit { measure, period, most }) })
    }
}

fn count(digits: &str) -> Result<u64, &'static str> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok()).flatten();
    number.ok_or("requests and queued requests are whole numbers")
}

impl Value for Quotas {
    const KIND: &'static str = "quotas";
    const MEANING: &'static str = "\
An array of texts `WHO: AMOUNT per PERIOD`, such as `\"ada: 2 GB per day\"`,
`\"192.168.1.0/24: 500 requests per day\"`, `\"*: 100 queued per month\"` or
`\"*: 200 kB per second\"`. WHO is a user, an address or network of clients without a login, or
`*` for all. This machine without a login is `127.0.0.1`. AMOUNT is a size, or a number of
`requests` or `queued`. PERIOD is `day`, `month`, or for sizes `second`. The first entry that
matches decides, for each kind of amount and period.";
    const EXPECTED: &'static str = "an array of quotas, such as [\"*: 500 MB per day\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let entries = elements(given, source, Self::EXPECTED, |one, source| {
            let expected = "quotas, such as \"*: 500 MB per day\"";
            let read = one.value.as_str().map_or(Err(""), QuotaEntry::parse);
            read.map_or_else(|because| source.refuse(one, expected, because), Some)
        })?;
        Some(Self(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(entries: &[&str]) -> Quotas {
        Quotas(entries.iter().map(|entry| QuotaEntry::parse(entry).unwrap()).collect())
    }

    #[test]
    fn the_first_matching_quota_decides() {
        let quotas = quotas(&[
            "ada: 2 GB per day",
            "192.168.1.0/24: 10 requests per day",
            "2001:db8::/32: 7 requests per month",
            "127.0.0.1: 3 queued per day",
            "*: 500 MB per day",
            "*: 200 kB per second",
        ]);
        let limits = |user, client: Option<&str>| {
            let client = client.map(|client| client.parse().unwrap());
            let all: Vec<_> = quotas.limits(user, client);
            let one = |limit: &QuotaLimit| {
                format!("{} {}/{}", limit.most, limit.measure.as_str(), limit.period.as_str())
            };
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        for (user, client, want) in [
            (Some("ada"), None, "2000000000 bytes/day"),
            (Some("bob"), None, "500000000 bytes/day"),
            (None, Some("192.168.1.9"), "10 requests/day, 500000000 bytes/day"),
            (None, Some("::ffff:192.168.1.9"), "10 requests/day, 500000000 bytes/day"),
            (None, Some("2001:db8::1"), "7 requests/month, 500000000 bytes/day"),
            (None, None, "3 queued/day, 500000000 bytes/day"),
        ] {
            assert_eq!(limits(user, client), want, "{user:?} {client:?}");
        }
        assert_eq!(quotas.rate(Some("ada"), None), Some(200_000));
        assert_eq!(Quotas::default().rate(None, None), None);
    }

    #[test]
    fn invalid_quotas_are_refused() {
        for text in [
            "",
            "ada",
            "ada: 2 GB",
            "ada: 2 per day",
            ": 2 GB per day",
            "ada:2 GB per day",
            "ada: 2 GB per week",
            "ada: 2 requests per second",
            "ada: -2 requests per day",
            "ada: 9999 B per second",
            "10.0.0.0/33: 2 GB per day",
            "a:b: 2 GB per day",
        ] {
            assert!(QuotaEntry::parse(text).is_err(), "{text:?}");
        }
    }
}
