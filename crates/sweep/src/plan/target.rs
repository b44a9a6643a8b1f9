//! The target of a plan: addresses, key, headers, connection.

use crate::{SweepError, header::HeaderLine};
use plimsoll_record::{Plan, SCRAPE_OFF};
use plimsoll_wire::url::BaseUrl;

/// Most target addresses.
const MAX_TARGETS: usize = 64;

/// Checks what a plan says of the server and the way to it. Reads nothing: neither files nor variables.
pub fn check_target(plan: &Plan) -> Result<(), SweepError> {
    check_addresses(plan)?;
    check_key(plan)?;
    check_tls(plan)?;
    check_way(plan)?;
    for (name, span) in [
        ("--connect-timeout", Some(plan.connect_timeout)),
        ("--first-token-timeout", plan.first_token_timeout),
        ("--idle-timeout", Some(plan.idle_timeout)),
    ] {
        if span.is_some_and(|span| span.nanos() == 0) {
            return refuse(format!("{name}: must be longer than 0"));
        }
    }
    match plan.scrape.as_deref() {
        Some("") => refuse("--scrape: empty; give the address of a metrics page, or off"),
        None | Some(SCRAPE_OFF) => Ok(()),
        Some(url) => parse("--scrape", url).map(drop),
    }
}

fn refuse(message: impl Into<String>) -> Result<(), SweepError> {
    Err(SweepError::usage(message.into()))
}

fn parse(flag: &str, url: &str) -> Result<BaseUrl, SweepError> {
    url.parse().map_err(|error| SweepError::usage(format!("{flag}: {error}")))
}

fn check_addresses(plan: &Plan) -> Result<(), SweepError> {
    if plan.url.len() > MAX_TARGETS {
        return refuse(format!("--url: {} addresses; at most {MAX_TARGETS}", plan.url.len()));
    }
    let mut seen = Vec::new();
    for url in &plan.url {
        if url.trim().is_empty() {
            return refuse("--url: empty; give an address such as http://127.0.0.1:8000");
        }
        let shown = parse("--url", url)?.to_string();
        if seen.contains(&shown) {
            return refuse(format!(
                "--url: {shown} is named twice; every address gets the same share of requests"
            ));
        }
        seen.push(shown);
    }
    Ok(())
}

fn check_key(plan: &Plan) -> Result<(), SweepError> {
    if plan.api_key_env.is_some() && plan.api_key_file.is_some() {
        return refuse("--api-key-env and --api-key-file exclude each other: give the key in one place");
    }
    let mut names = Vec::new();
    for line in &plan.header {
        let name = HeaderLine::parse(line)?.name().to_owned();
        if names.contains(&name) {
            return refuse(format!("--header: `{name}` is given twice"));
        }
        names.push(name);
    }
    let key = plan.api_key_env.is_some() || plan.api_key_file.is_some();
    if key && names.iter().any(|name| name == "authorization") {
        return refuse("--header: `authorization` would take the place of the API key; give one of them");
    }
    Ok(())
}

fn check_tls(plan: &Plan) -> Result<(), SweepError> {
    match (&plan.client_cert, &plan.client_key) {
        (Some(_), None) => return refuse("--client-cert: needs --client-key, its private key"),
        (None, Some(_)) => return refuse("--client-key: needs --client-cert, its certificate chain"),
        _ => {}
    }
    let named = [
        ("--insecure", plan.insecure),
        ("--ca-file", plan.ca_file.is_some()),
        ("--client-cert", plan.client_cert.is_some()),
    ];
    if let Some((flag, _)) = named.into_iter().find(|(_, given)| *given)
        && !plan.url.iter().any(|url| is_https(url))
    {
        return refuse(format!(
            "{flag}: only TLS uses it; write the address as https://..., or leave it out"
        ));
    }
    Ok(())
}

fn is_https(url: &str) -> bool {
    url.trim().get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

fn check_way(plan: &Plan) -> Result<(), SweepError> {
    if let Some(path) = &plan.unix_socket {
        let path = path.display();
        match plan.url.len() {
            0 => {
                return refuse(format!(
                    "--unix-socket {path}: needs --url too, whose host goes into the Host header; write for example \
                     --url http://localhost"
                ));
            }
            1 => {}
            n => {
                return refuse(format!(
                    "--unix-socket {path}: one socket is one server, and --url names {n}"
                ));
            }
        }
        if plan.proxy.is_some() {
            return refuse("--unix-socket and --proxy exclude each other: a socket has no proxy in between");
        }
    }
    let Some(proxy) = &plan.proxy else { return Ok(()) };
    if plan.url.is_empty() {
        return refuse("--proxy: the embedded mock is in this program; give --url, or leave it out");
    }
    if proxy.contains('@') {
        return refuse(
            "--proxy: a user and password must not stand on a command line or in a plan; put the whole address into a \
             variable and write --proxy env:NAME",
        );
    }
    if is_https(proxy) {
        return refuse("--proxy: the way to the proxy itself is plain HTTP; write http://host:port");
    }
    if let Some(variable) = proxy.strip_prefix("env:") {
        let sound = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if variable.is_empty() || !variable.chars().all(sound) {
            return refuse("--proxy: what follows env: is not the name of a variable");
        }
        return Ok(());
    }
    parse("--proxy", proxy).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::Span;

    fn error(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = Plan { url: vec!["http://h".into()], ..Plan::default() };
        change(&mut plan);
        check_target(&plan).map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    }

    fn https(plan: &mut Plan) {
        plan.url = vec!["https://h".into()];
    }

    #[test]
    fn addresses() {
        assert_eq!(error(|plan| plan.url.push("http://other:8000/v1".into())), "accepted");
        assert!(error(|plan| plan.url.push("http://H/v1/".into())).contains("http://h is named twice"));
        assert!(error(|plan| plan.url.push(" ".into())).contains("--url: empty"));
        assert!(error(|plan| plan.url = vec!["http://u:pw@h".into()]).contains("--url"));
        assert!(!error(|plan| plan.url = vec!["http://u:pw@h".into()]).contains("pw"));
        assert!(error(|plan| plan.scrape = Some(String::new())).contains("--scrape: empty"));
        assert!(error(|plan| plan.scrape = Some("http://:9".into())).contains("--scrape: "));
    }

    #[test]
    fn keys_and_headers() {
        let both =
            |plan: &mut Plan| (plan.api_key_env, plan.api_key_file) = (Some("A".into()), Some("b".into()));
        assert!(error(both).contains("in one place"));
        let two = |plan: &mut Plan| {
            (plan.api_key_env, plan.header) = (Some("A".into()), vec!["Authorization: env:B".into()]);
        };
        assert!(error(two).contains("give one of them"));
        assert!(
            error(|plan| plan.header = vec!["A: 1".into(), "a: 2".into()]).contains("`a` is given twice")
        );
    }

    #[test]
    fn certificates_come_in_pairs_and_with_tls() {
        assert!(error(|plan| plan.client_cert = Some("c".into())).contains("needs --client-key"));
        assert!(error(|plan| plan.client_key = Some("k".into())).contains("needs --client-cert"));
        assert!(error(|plan| plan.insecure = true).contains("--insecure: only TLS"));
        assert!(error(|plan| plan.ca_file = Some("c".into())).contains("--ca-file: only TLS"));
        let sound = |plan: &mut Plan| {
            https(plan);
            (plan.client_cert, plan.client_key, plan.insecure) = (Some("c".into()), Some("k".into()), true);
        };
        assert_eq!(error(sound), "accepted");
    }

    #[test]
    fn one_way_to_the_server() {
        let socket = |plan: &mut Plan| plan.unix_socket = Some("/s".into());
        assert_eq!(error(socket), "accepted");
        assert!(
            error(|plan| {
                socket(plan);
                plan.url.push("http://b".into());
            })
            .contains("names 2")
        );
        assert!(
            error(|plan| {
                socket(plan);
                plan.url.clear();
            })
            .contains("needs --url")
        );
        let proxy = |address: &str| {
            let address = address.to_owned();
            move |plan: &mut Plan| plan.proxy = Some(address)
        };
        assert_eq!(error(proxy("http://p:3128")), "accepted");
        assert_eq!(error(proxy("env:PROXY_ADDRESS")), "accepted");
        assert!(error(proxy("env:")).contains("name of a variable"));
        assert!(error(proxy("https://p")).contains("plain HTTP"));
        let secret = error(proxy("http://u:hunter2@p"));
        assert!(secret.contains("env:NAME") && !secret.contains("hunter2"), "{secret}");
        assert!(
            error(|plan| {
                socket(plan);
                proxy("http://p")(plan);
            })
            .contains("exclude each other")
        );
        assert!(
            error(|plan| {
                plan.url.clear();
                proxy("http://p")(plan);
            })
            .contains("embedded mock")
        );
        assert!(error(|plan| plan.idle_timeout = Span::from_millis(0)).contains("--idle-timeout"));
    }
}
