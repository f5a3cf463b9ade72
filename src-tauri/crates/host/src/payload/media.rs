//! Pictures, sound and files: what the bytes are, whatever they are called, and a name that is safe to save them under.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// How many bytes of UTF-8 a file name has at most.
const NAME_BYTES: usize = 120;

/// Why media cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediaError {
    /// It is larger than allowed.
    #[error("this is larger than {cap} bytes and was not decoded")]
    TooLarge {
        /// The limit in bytes.
        cap: usize,
    },
    /// It is not base64.
    #[error("this is not valid base64: {detail}")]
    NotBase64 {
        /// What is wrong.
        detail: String,
    },
}

/// How media is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// A picture that is safe to draw.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything else: a card with a button to save.
    File,
}

/// What some bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// How they are presented.
    pub kind: MediaKind,
    /// The media type to serve them with: found in the bytes, or the declared one for files.
    pub mime: String,
    /// Whether the server declared another type than the bytes have.
    pub mismatch: bool,
}

/// Decodes base64 of either alphabet, with or without padding, with line breaks.
///
/// # Errors
/// It would be larger than `cap` bytes, or is not base64.
pub fn decode_base64(text: &str, cap: usize) -> Result<Vec<u8>, MediaError> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let compact: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if compact.len() / 4 > cap / 3 + 1 {
        return Err(MediaError::TooLarge { cap });
    }
    let url_safe = compact.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let alphabet = if url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    let bytes = GeneralPurpose::new(alphabet, config)
        .decode(compact)
        .map_err(|error| MediaError::NotBase64 { detail: error.to_string() })?;
    if bytes.len() > cap { Err(MediaError::TooLarge { cap }) } else { Ok(bytes) }
}

/// Tells what bytes are from the bytes themselves. Only known raster pictures, sound and video are ever presented as such; SVG and HTML
/// can carry scripts and are files, and so is what a server merely calls a picture.
pub fn identify(bytes: &[u8], declared: Option<&str>) -> Media {
    let declared = declared.map(essence).filter(|mime| is_mime(mime));
    match sniff(bytes, declared.as_deref()) {
        Some((kind, mime)) => {
            let mismatch = declared.is_some_and(|declared| !same(&declared, mime));
            Media { kind, mime: mime.to_owned(), mismatch }
        }
        None => {
            let claims_media = declared.as_deref().is_some_and(|mime| {
                mime == "application/pdf"
                    || ["image/", "audio/", "video/"].iter().any(|kind| mime.starts_with(kind))
            });
            let mime =
                declared.filter(|_| !claims_media).unwrap_or_else(|| "application/octet-stream".to_owned());
            Media { kind: MediaKind::File, mime, mismatch: claims_media }
        }
    }
}

fn sniff(bytes: &[u8], declared: Option<&str>) -> Option<(MediaKind, &'static str)> {
    use MediaKind::{Audio, File, Image, Video};
    let at = |from: usize, magic: &[u8]| bytes.get(from..).is_some_and(|rest| rest.starts_with(magic));
    let says = |kind: &str| declared.is_some_and(|mime| mime.starts_with(kind));
    if at(0, b"\x89PNG\r\n\x1a\n") {
        return Some((Image, "image/png"));
    }
    if at(0, b"\xff\xd8\xff") {
        return Some((Image, "image/jpeg"));
    }
    if at(0, b"GIF87a") || at(0, b"GIF89a") {
        return Some((Image, "image/gif"));
    }
    if at(0, b"RIFF") {
        return match bytes.get(8..12) {
            Some(b"WEBP") => Some((Image, "image/webp")),
            Some(b"WAVE") => Some((Audio, "audio/wav")),
            _ => None,
        };
    }
    if at(0, b"OggS") {
        return Some(if says("video/") { (Video, "video/ogg") } else { (Audio, "audio/ogg") });
    }
    if at(4, b"ftyp") {
        return match bytes.get(8..12) {
            Some(b"avif" | b"avis") => Some((Image, "image/avif")),
            Some(b"M4A " | b"M4B ") => Some((Audio, "audio/mp4")),
            Some(b"heic" | b"heix" | b"mif1") => Some((File, "image/heic")),
            _ if says("audio/") => Some((Audio, "audio/mp4")),
            _ => Some((Video, "video/mp4")),
        };
    }
    if at(0, b"\x1a\x45\xdf\xa3") {
        let webm = bytes.iter().take(64).copied().collect::<Vec<_>>().windows(4).any(|part| part == b"webm");
        return Some(match (webm, says("audio/")) {
            (true, true) => (Audio, "audio/webm"),
            (true, false) => (Video, "video/webm"),
            (false, _) => (File, "video/x-matroska"),
        });
    }
    if at(0, b"%PDF-") {
        return Some((File, "application/pdf"));
    }
    if at(0, b"ID3") || is_mp3_frame(bytes) {
        return Some((Audio, "audio/mpeg"));
    }
    sniff_markup(bytes)
}

/// MPEG audio has eleven set bits, then version, layer III, and a bit rate and a sampling rate that exist.
fn is_mp3_frame(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, second, third, ..]
        if second & 0xe6 == 0xe2 && second & 0x18 != 0x08 && !matches!(third >> 4, 0 | 15) && third & 0x0c != 0x0c)
}

/// Markup that can run scripts, told by its first kilobyte.
fn sniff_markup(bytes: &[u8]) -> Option<(MediaKind, &'static str)> {
    let head = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes)).to_lowercase();
    let head = head.trim_start_matches('\u{feff}').trim_start();
    if !head.starts_with('<') {
        return None;
    }
    if head.contains("<svg") && !head.contains("<html") {
        return Some((MediaKind::File, "image/svg+xml"));
    }
    if head.contains("<html") || head.contains("<!doctype html") || head.contains("<script") {
        return Some((MediaKind::File, "text/html"));
    }
    None
}

/// A media type without its parameters, in lower case.
fn essence(mime: &str) -> String {
    mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether it may stand in a header (RFC 6838, section 4.2).
fn is_mime(mime: &str) -> bool {
    let name = |part: &str| {
        !part.is_empty()
            && part.len() <= 127
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    mime.split_once('/').is_some_and(|(kind, subtype)| name(kind) && name(subtype))
}

/// Whether two names mean one type.
fn same(declared: &str, found: &str) -> bool {
    let usual = match declared {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/mp3" | "audio/x-mp3" | "audio/mpeg3" => "audio/mpeg",
        "audio/m4a" | "audio/x-m4a" => "audio/mp4",
        "application/ogg" | "audio/opus" | "audio/vorbis" => "audio/ogg",
        "application/x-pdf" => "application/pdf",
        other => other,
    };
    usual == found
}

/// A file name made of the last part of a URI: no folder, no characters that control or reorder text or that some system forbids, at
/// most 120 bytes with its extension kept. `fallback` is used when nothing is left; it should be safe itself.
pub fn safe_name(uri: &str, fallback: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // Decoding may bring new separators.
    let decoded = percent_decoded(last);
    let last = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    let cleaned: String = last.chars().filter(|&c| !is_forbidden(c)).collect();
    let name = cleaned.trim_start_matches(['.', ' ', '-']).trim_end_matches(['.', ' ']);
    let name = shortened(name);
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    if name.is_empty() {
        fallback.to_owned()
    } else if is_device(&stem) {
        format!("_{name}")
    } else {
        name
    }
}

/// The name of a file when others have it already: `a (2).csv` for the second; the first has the name itself.
pub fn numbered(name: &str, n: usize) -> String {
    match name.rsplit_once('.') {
        _ if n < 2 => name.to_owned(),
        Some((stem, ending)) if !stem.is_empty() => format!("{stem} ({n}).{ending}"),
        _ => format!("{name} ({n})"),
    }
}

fn is_forbidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '\u{fffd}')
        // Marks that reorder or hide text.
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

/// Names that Windows keeps for devices, with any extension.
fn is_device(stem: &str) -> bool {
    let numbered =
        |name: &str| stem.strip_prefix(name).is_some_and(|rest| matches!(rest.as_bytes(), [b'0'..=b'9']));
    matches!(stem, "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

fn shortened(name: &str) -> String {
    if name.len() <= NAME_BYTES {
        return name.to_owned();
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extension =
        if extension.len() <= 16 && !extension.is_empty() { format!(".{extension}") } else { String::new() };
    let mut end = NAME_BYTES - extension.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{extension}", name.get(..end).unwrap_or_default().trim_end_matches(['.', ' ']))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = match rest {
            [b'%', high, low, ..] => {
                std::str::from_utf8(&[*high, *low]).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok())
            }
            _ => None,
        };
        match escaped {
            Some(decoded) => {
                bytes.push(decoded);
                rest = rest.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_spelling_is_decoded_and_capped() {
        for text in ["+/+/aGk=", "+/+/aGk", "-_-_aGk", "+/+/\r\n aG\nk=\n"] {
            assert_eq!(decode_base64(text, 100).unwrap(), b"\xfb\xff\xbfhi", "{text}");
        }
        assert_eq!(decode_base64("", 0), Ok(vec![]));
        assert_eq!(decode_base64("aGk=", 2), Ok(b"hi".to_vec()));
        assert_eq!(decode_base64("aGk=", 1), Err(MediaError::TooLarge { cap: 1 }));
        assert_eq!(decode_base64(&"A".repeat(4000), 100), Err(MediaError::TooLarge { cap: 100 }));
        assert!(matches!(
            decode_base64("data:image/png;base64,aGk=", 100),
            Err(MediaError::NotBase64 { .. })
        ));
        assert!(matches!(decode_base64("aGk=€", 100), Err(MediaError::NotBase64 { .. })));
    }

    #[test]
    fn bytes_say_what_they_are() {
        use MediaKind::{Audio, File, Image, Video};
        let check = |bytes: &[u8], declared: &str, kind, mime: &str, mismatch| {
            let found = identify(bytes, Some(declared));
            assert_eq!(found, Media { kind, mime: mime.to_owned(), mismatch }, "{declared}");
        };
        check(b"\x89PNG\r\n\x1a\n....", "image/png", Image, "image/png", false);
        check(b"\x89PNG\r\n\x1a\n....", "image/jpeg", Image, "image/png", true);
        check(b"\xff\xd8\xff\xe0", "image/jpg; q=1", Image, "image/jpeg", false);
        check(b"GIF89a", "IMAGE/GIF", Image, "image/gif", false);
        check(b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", Image, "image/webp", false);
        check(b"RIFF\0\0\0\0WAVEfmt ", "audio/x-wav", Audio, "audio/wav", false);
        check(b"ID3\x04", "audio/mp3", Audio, "audio/mpeg", false);
        check(b"\xff\xfb\x90\x64", "audio/mpeg", Audio, "audio/mpeg", false);
        check(b"OggS\0\x02", "audio/ogg", Audio, "audio/ogg", false);
        check(b"\0\0\0\x20ftypisom", "video/mp4", Video, "video/mp4", false);
        check(b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm", Video, "video/webm", false);
        check(b"%PDF-1.7", "application/pdf", File, "application/pdf", false);
        check(b"a,b\n1,2", "text/csv; charset=utf-8", File, "text/csv", false);
        // What could run is a file, whatever it is called; what only claims to be a picture too.
        check(
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>",
            "image/svg+xml",
            File,
            "image/svg+xml",
            false,
        );
        check(b"\xef\xbb\xbf <?xml version='1.0'?>\n<SVG>", "image/png", File, "image/svg+xml", true);
        check(b"<!DOCTYPE html><script>", "image/png", File, "text/html", true);
        check(b"nonsense", "image/png", File, "application/octet-stream", true);
        check(b"", "image/png", File, "application/octet-stream", true);
        check(b"nonsense", "text/plain\r\nSet-Cookie: x", File, "application/octet-stream", false);
        assert_eq!(identify(b"?", None).mime, "application/octet-stream");
    }

    #[test]
    fn names_are_safe() {
        let cases = [
            ("file:///data/report.pdf?x=/y", "report.pdf"),
            ("https://host/a/b%20c.csv#top", "b c.csv"),
            ("../../etc/passwd", "passwd"),
            ("x://a/..%2f..%2f.bashrc", "bashrc"),
            ("x://a/..%5c..%5cevil.exe", "evil.exe"),
            ("x://a/photo\u{202e}gpj.exe", "photogpj.exe"),
            ("x://a/a%00b%0ac.txt", "abc.txt"),
            ("x://a/con.txt", "_con.txt"),
            ("x://a/LPT1", "_LPT1"),
            ("x://a/-rf", "rf"),
            ("x://a/name. . ", "name"),
            ("x://a/日本語.png", "日本語.png"),
            ("x://a/%zz%4", "%zz%4"),
            ("x://a/%ff", "file"),
            ("..", "file"),
            ("", "file"),
        ];
        for (uri, name) in cases {
            assert_eq!(safe_name(uri, "file"), name, "{uri}");
        }
        let long = safe_name(&format!("x://a/{}.json", "ü".repeat(300)), "file");
        assert!(long.len() <= NAME_BYTES && long.ends_with("ü.json"), "{long}");
    }
}
