#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wwwoffle_fuzz::listing::run(data));
