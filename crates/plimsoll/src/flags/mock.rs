use clap::Args;
use plimsoll_record::{MockEngine, Span};
use std::net::IpAddr;

/// Flags of `mock`.
#[derive(Debug, Args)]
pub struct MockFlags {
    /// Port to listen on; 0 takes a free one.
    #[arg(long, value_name = "PORT")]
    pub port: u16,
    /// Address to listen on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Name of the environment variable that holds the key to ask for [default: no key].
    #[arg(long, value_name = "VARIABLE")]
    pub api_key_env: Option<String>,
    #[command(flatten)]
    engine: EngineFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
struct EngineFlags {
    /// Name of the model that it serves [default: mock].
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Largest number of requests in the running batch [default: 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_num_seqs: Option<u32>,
    /// Largest prompt plus answer, tokens [default: 8192].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_model_len: Option<u32>,
    /// Prefill: fixed part per request [default: 10ms].
    #[arg(long, value_name = "TIME")]
    prefill_base: Option<Span>,
    /// Prefill: per prompt token [default: 20us].
    #[arg(long, value_name = "TIME")]
    prefill_per_token: Option<Span>,
    /// Decode step: fixed part [default: 4ms].
    #[arg(long, value_name = "TIME")]
    decode_base: Option<Span>,
    /// Decode step: per sequence in the batch [default: 50us].
    #[arg(long, value_name = "TIME")]
    decode_per_seq: Option<Span>,
    /// Size of a KV-cache block, tokens [default: 16].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    block_size: Option<u32>,
    /// KV-cache blocks [default: 8192].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    num_blocks: Option<u32>,
}

impl MockFlags {
    /// The engine that they describe.
    pub fn engine(&self) -> MockEngine {
        let flags = &self.engine;
        let default = MockEngine::default();
        MockEngine {
            model: flags.model.clone().unwrap_or(default.model),
            max_num_seqs: flags.max_num_seqs.unwrap_or(default.max_num_seqs),
            max_model_len: flags.max_model_len.unwrap_or(default.max_model_len),
            prefill_base: flags.prefill_base.unwrap_or(default.prefill_base),
            prefill_per_token: flags.prefill_per_token.unwrap_or(default.prefill_per_token),
            decode_base: flags.decode_base.unwrap_or(default.decode_base),
            decode_per_seq: flags.decode_per_seq.unwrap_or(default.decode_per_seq),
            block_size: flags.block_size.unwrap_or(default.block_size),
            num_blocks: flags.num_blocks.unwrap_or(default.num_blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::{CommandFactory, Parser};

    #[test]
    fn flags_reach_the_engine() {
        let args = [
            "plimsoll",
            "mock",
            "--port",
            "0",
            "--max-num-seqs",
            "3",
            "--decode-base",
            "2ms",
            "--model",
            "m",
        ];
        let Command::Mock(flags) = Cli::try_parse_from(args).unwrap().command else { panic!("not mock") };
        let expected = MockEngine {
            model: "m".into(),
            max_num_seqs: 3,
            decode_base: Span::from_millis(2),
            ..MockEngine::default()
        };
        assert_eq!(flags.engine(), expected);
    }

    #[test]
    fn an_engine_of_nothing_is_refused() {
        for flag in ["--max-num-seqs", "--max-model-len", "--block-size", "--num-blocks"] {
            let error =
                Cli::try_parse_from(["plimsoll", "mock", "--port", "0", flag, "0"]).unwrap_err().to_string();
            assert!(error.contains(flag) && error.contains("0 is not in 1..="), "{error}");
        }
    }

    #[test]
    fn defaults_in_the_help_are_the_engine_s() {
        let mut command = Cli::command();
        let help = command.find_subcommand_mut("mock").unwrap().render_long_help().to_string();
        let engine = MockEngine::default();
        for default in [
            engine.model.clone(),
            engine.max_num_seqs.to_string(),
            engine.max_model_len.to_string(),
            engine.prefill_base.to_string(),
            engine.prefill_per_token.to_string(),
            engine.decode_base.to_string(),
            engine.decode_per_seq.to_string(),
            engine.block_size.to_string(),
            engine.num_blocks.to_string(),
        ] {
            assert!(help.contains(&format!("[default: {default}]")), "{default} is not in {help}");
        }
    }
}
