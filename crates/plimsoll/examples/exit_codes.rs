//! Runs command lines from within a program and looks at how they ended.
//!
//! `cargo run -p plimsoll --example exit_codes`

fn main() {
    for args in [
        &["plimsoll", "--version"][..],
        &["plimsoll", "sweep", "--concurrency", "0"],
        &["plimsoll", "sweep", "--slo", "at 10: ttft p95 > 1s"],
        &["plimsoll", "report", "no/such/folder"],
        &["plimsoll", "check", "--url", "http://127.0.0.1:9"],
    ] {
        let exit = plimsoll::run(args.iter().copied());
        println!("{} -> {exit:?}, code {}\n", args.join(" "), exit.code());
    }
}
