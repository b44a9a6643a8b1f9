//! Local ports for outgoing connections (ip(7), `ip_local_port_range`; `proc_net_tcp`).

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// The range of local ports, and the connections that there are.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    range: Option<(u16, u16)>,
    reserved: String,
    connections: Vec<String>,
}

impl Ports {
    /// As they are now.
    pub fn now() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            range: parse_range(&text("/proc/sys/net/ipv4/ip_local_port_range")),
            reserved: text("/proc/sys/net/ipv4/ip_local_reserved_ports"),
            connections: vec![text("/proc/self/net/tcp"), text("/proc/self/net/tcp6")],
        }
    }

    /// Local ports that are free towards `server`: two connections may share one if their servers differ. Absent where
    /// the system does not tell.
    pub fn free_towards(&self, server: SocketAddr) -> Option<u64> {
        let (low, high) = self.range?;
        let range = low..=high;
        let all = u64::from(high - low) + 1;
        let reserved: u64 = self.reserved.split(',').filter_map(|part| within(part.trim(), low, high)).sum();
        let used = self.connections.iter().flat_map(|text| text.lines().skip(1));
        let used =
            used.filter(|line| local_port_towards(line, server).is_some_and(|port| range.contains(&port)));
        Some(all.saturating_sub(reserved).saturating_sub(used.count() as u64))
    }
}

fn parse_range(text: &str) -> Option<(u16, u16)> {
    let mut parts = text.split_whitespace();
    let (low, high) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (low <= high).then_some((low, high))
}

/// How many ports of `7` or `7-9` lie in the range.
fn within(part: &str, low: u16, high: u16) -> Option<u64> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let (first, last) = (first.max(low), last.min(high));
    (first <= last).then(|| u64::from(last - first) + 1)
}

/// The local port of a connection, if it goes to `server`. Those that wait in `TIME_WAIT` hold theirs too.
fn local_port_towards(line: &str, server: SocketAddr) -> Option<u16> {
    let mut fields = line.split_whitespace();
    let (local, remote) = (fields.nth(1)?, fields.next()?);
    let remote = parse_address(remote)?;
    let same = remote.port() == server.port() && remote.ip().to_canonical() == server.ip().to_canonical();
    same.then(|| parse_address(local).map(|local| local.port()))?
}

/// `0100007F:1F90`: the address in words of 32 bits, each in the byte order of the host; the port plain.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip: IpAddr = match address.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for (number, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(number * 8)?);
            }
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as Linux on a little-endian machine writes them.
    #[cfg(target_endian = "little")]
    #[test]
    fn connections_to_one_server_take_its_ports() {
        let tcp = "  sl  local_address rem_address   st\n\
                   0: 0100007F:B473 00000000:0000 0A\n\
                   1: 0100007F:8001 0100007F:1F90 01\n\
                   2: 0100007F:8002 0100007F:1F90 06\n\
                   3: 0100007F:8003 0100007F:1F91 01\n\
                   4: 0100007F:0010 0100007F:1F90 01\n";
        let six = "  sl  local_address rem_address   st\n\
                   0: 0000000000000000FFFF00000100007F:8004 0000000000000000FFFF00000100007F:1F90 01\n\
                   1: 00000000000000000000000001000000:8005 00000000000000000000000001000000:1F90 01\n";
        let ports = Ports {
            range: parse_range("32768\t60999\n"),
            reserved: "10,40000-40009,60999".to_owned(),
            connections: vec![tcp.to_owned(), six.to_owned()],
        };
        let free = |server: &str| ports.free_towards(server.parse().unwrap());
        let all = 60_999 - 32_768 + 1 - 11;
        assert_eq!(free("127.0.0.1:8080"), Some(all - 3));
        assert_eq!(free("127.0.0.1:8081"), Some(all - 1));
        assert_eq!(free("[::1]:8080"), Some(all - 1));
        assert_eq!(free("10.0.0.1:8080"), Some(all));
        assert_eq!(Ports::default().free_towards("10.0.0.1:1".parse().unwrap()), None);
    }

    #[test]
    fn ranges_that_are_none() {
        for text in ["", "5", "9 5", "a b"] {
            assert_eq!(parse_range(text), None, "{text}");
        }
        for text in ["", "x", "9-5"] {
            assert_eq!(within(text, 1, 100), None, "{text}");
        }
    }
}
