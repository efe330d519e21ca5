#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tiller_fuzz_targets::gemini_answer(data));
