#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tiller_fuzz_targets::openai_responses_answer(data));
