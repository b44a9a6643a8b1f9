//! Any split of the bytes gives the same events; the expected ones come from a plain reading of WHATWG HTML 9.2.6.

use plimsoll_wire::sse::SseDecoder;
use proptest::prelude::*;

/// Name, data and whether the event was ended by a blank line; `None` for an event beyond the limit.
type Seen = Option<(String, String, bool)>;

fn decode(pieces: &[&[u8]], limit: usize) -> Vec<Seen> {
    let mut decoder = SseDecoder::with_limit(limit);
    let mut seen = Vec::new();
    for piece in pieces {
        if let Some(event) = decoder.take_whole(piece) {
            seen.push(Some((event.name.to_owned(), event.data.to_owned(), event.terminated)));
            continue;
        }
        decoder.push(piece);
        while let Some(event) = decoder.next_event() {
            seen.push(
                event.ok().map(|event| (event.name.to_owned(), event.data.to_owned(), event.terminated)),
            );
        }
    }
    let last = decoder.finish().map(|event| (event.name.to_owned(), event.data.to_owned(), event.terminated));
    seen.extend(last.map(Some));
    seen
}

/// The standard's algorithm, on the whole text at once.
fn reference(bytes: &[u8]) -> Vec<Seen> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let (mut name, mut data) = (String::new(), String::new());
    let mut seen = Vec::new();
    let mut lines: Vec<&str> = text.split('\n').collect();
    let rest = lines.pop().unwrap_or_default();
    let unended = usize::from(!rest.is_empty());
    lines.extend((unended == 1).then_some(rest));
    for line in lines {
        if line.is_empty() {
            if !data.is_empty() {
                data.pop();
                seen.push(Some((name.clone(), data.clone(), true)));
            }
            (name, data) = (String::new(), String::new());
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.extend([value, "\n"]),
            "event" => value.clone_into(&mut name),
            _ => {}
        }
    }
    if !data.is_empty() {
        data.pop();
        seen.push(Some((name, data, false)));
    }
    seen
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let parts: &[&[u8]] = &[
        b"data: whole\n\n",
        b"data:\n\n",
        b"data: a\rb\n\n",
        b"data: ",
        b"data:",
        b"data",
        b"event: ",
        b"id: 7",
        b"retry: 1",
        b": ping",
        b":",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\r",
        b"\r\n",
        b"\r\n\r\n",
        b" ",
        b"{\"a\":1}",
        b"[DONE]",
        "\u{6e2f}".as_bytes(),
        b"\xE6\xB8",
        b"\xFF",
        b"\xEF\xBB\xBF",
        b"\0",
        b"x",
    ];
    prop::sample::select(parts.to_vec()).prop_map(<[u8]>::to_vec)
}

proptest! {
    #[test]
    fn any_split_gives_the_standards_events(
        fragments in prop::collection::vec(fragment(), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = fragments.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let want = reference(&bytes);
        prop_assert_eq!(decode(&pieces, 1 << 20), want.clone());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let whole: Vec<&[u8]> = fragments.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(decode(&whole, 1 << 20), want.clone());
        prop_assert_eq!(decode(&single, 1 << 20), want);
        for limit in [0, 5, 12] {
            prop_assert_eq!(decode(&whole, limit), decode(&[&bytes], limit));
            prop_assert_eq!(decode(&pieces, limit), decode(&[&bytes], limit));
            prop_assert_eq!(decode(&single, limit), decode(&[&bytes], limit));
        }
    }
}

#[test]
fn an_event_beyond_the_limit_is_one_error_and_the_next_event_is_whole() {
    let long = format!("data: {}\ndata: more\n\ndata: next\n\n", "x".repeat(100));
    let next = Some((String::new(), "next".to_owned(), true));
    assert_eq!(decode(&[long.as_bytes()], 50), [None, next.clone()]);
    let single: Vec<&[u8]> = long.as_bytes().chunks(1).collect();
    assert_eq!(decode(&single, 50), [None, next]);
}

#[test]
fn invalid_utf8_is_replaced_and_counted() {
    let mut decoder = SseDecoder::new();
    decoder.push(b"data: a\xFFb\n\n");
    assert_eq!(decoder.next_event().unwrap().unwrap().data, "a\u{fffd}b");
    assert_eq!(decoder.invalid_utf8(), 1);
    assert_eq!(
        decode(&[b"\xEF\xBB", b"\xBFdata: \xE6\xB8", b"\xAF\n\n"], 99)[0].as_ref().unwrap().1,
        "\u{6e2f}"
    );
}
