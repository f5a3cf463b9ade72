//! Pictures that a View would show to the model: each is of the type that it is called, small, and no larger to draw than the window can.
//!
//! A picture is shown to the user before it goes, so one that is small as a file and huge once it is drawn would cost the window its
//! memory. Its size is therefore read from its first bytes. Deliberately absent: drawing, and any change of the bytes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use imagesize::ImageType;
use usher_protocol::common::Media;

/// How many pictures a View may show to the model at once.
pub const MOST_PICTURES: usize = 8;

/// The largest of them, in bytes. Each request of the conversation carries them again.
pub const LARGEST_PICTURE: usize = 1 << 20;

/// How many bytes they may have together.
pub const MOST_PICTURE_BYTES: usize = 2 << 20;

/// How many pixels they may have together: 64 MiB once they are drawn.
pub const MOST_PIXELS: u64 = 16 << 20;

/// A picture that may cross.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its bytes as base64, and its type in its usual form.
    pub media: Media,
    /// Its size in bytes.
    pub bytes: usize,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// The usual form of a type that models take, and what reads its pictures.
fn kind(mime: &str) -> Option<(&'static str, ImageType)> {
    Some(match mime.to_ascii_lowercase().as_str() {
        "image/png" => ("image/png", ImageType::Png),
        "image/jpeg" => ("image/jpeg", ImageType::Jpeg),
        "image/gif" => ("image/gif", ImageType::Gif),
        "image/webp" => ("image/webp", ImageType::Webp),
        _ => return None,
    })
}

/// Pixels across and down, if the bytes begin as a picture of this type does.
fn size(kind: ImageType, bytes: &[u8]) -> Option<(u32, u32)> {
    let size = imagesize::blob_size(bytes)
        .ok()
        .filter(|_| imagesize::image_type(bytes).is_ok_and(|it| it == kind))?;
    let across = u32::try_from(size.width).ok().filter(|it| *it > 0)?;
    Some((across, u32::try_from(size.height).ok().filter(|it| *it > 0)?))
}

impl Picture {
    /// Reads a picture; `None` when models take none of the type that it is called.
    ///
    /// # Errors
    /// It is too large, no base64, or no picture of that type. Says why.
    pub fn read(media: &Media) -> Result<Option<Self>, String> {
        let Some((mime, kind)) = kind(&media.mime) else { return Ok(None) };
        // Not decoded if it cannot be small enough.
        if media.data.len().div_ceil(4) * 3 > LARGEST_PICTURE + 3 {
            return Err(format!("a picture has more than {LARGEST_PICTURE} bytes"));
        }
        let bytes =
            STANDARD.decode(&media.data).map_err(|error| format!("a picture is no base64: {error}"))?;
        if bytes.len() > LARGEST_PICTURE {
            return Err(format!("a picture has more than {LARGEST_PICTURE} bytes"));
        }
        let (width, height) =
            size(kind, &bytes).ok_or_else(|| format!("a picture is called {mime} and is none"))?;
        let media = Media { data: media.data.clone(), mime: mime.to_owned() };
        Ok(Some(Self { media, bytes: bytes.len(), width, height }))
    }

    /// Whether so many may cross at once.
    ///
    /// # Errors
    /// They are too many or too large together. Says why.
    pub fn fit(all: &[Self]) -> Result<(), String> {
        if all.len() > MOST_PICTURES {
            return Err(format!("more than {MOST_PICTURES} pictures"));
        }
        if all.iter().map(|it| it.bytes).sum::<usize>() > MOST_PICTURE_BYTES {
            return Err(format!("the pictures have more than {MOST_PICTURE_BYTES} bytes together"));
        }
        if all.iter().map(|it| u64::from(it.width) * u64::from(it.height)).sum::<u64>() > MOST_PIXELS {
            return Err(format!("the pictures have more than {MOST_PIXELS} pixels together"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAFUlEQVR4nGM8ISfHwMDAwMDAxAADABMuAQhqwGVhAAAAAElFTkSuQmCC";
    const GIF: &str = "R0lGODdhAwACAIEAAMgeHgAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7";
    const LOSSLESS: &str = "UklGRh4AAABXRUJQVlA4TBEAAAAvAkAAAAdQjyLXo/+BiOh/AAA=";
    const LOSSY: &str = "UklGRjAAAABXRUJQVlA4ICQAAABwAQCdASoDAAIADMDOJaACdAFAAAD+2iYRho1+LuxHGSQAAAA=";
    const EXTENDED: &str = "UklGRlIAAABXRUJQVlA4WAoAAAAQAAAAAgAAAQAAQUxQSAcAAAAACQkJCQkJAFZQOCAkAAAAcAEAnQEqAwACAAzAziWgAnQBQAAA/tomEYaNfi7sRxkkAAAA";

    fn read(mime: &str, data: impl Into<String>) -> Result<Option<Picture>, String> {
        Picture::read(&Media { data: data.into(), mime: mime.to_owned() })
    }

    fn of_bytes(mime: &str, bytes: &[u8]) -> Result<Option<Picture>, String> {
        read(mime, STANDARD.encode(bytes))
    }

    /// A PNG that ends after its header.
    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", &size[..]].concat()
    }

    /// A JPEG of 3 by 2 that ends after its frame header, with something before that.
    fn jpeg_after(before: &[u8]) -> Vec<u8> {
        [b"\xff\xd8", before, b"\xff\xc2\0\x11\x08\0\x02\0\x03\x03"].concat()
    }

    #[test]
    fn each_type_is_told_with_its_size() {
        let jpeg = STANDARD.encode(jpeg_after(b"\xff\xe0\0\x04\0\0\xff\xdb\0\x03\0"));
        for (mime, data) in [
            ("image/png", PNG),
            ("IMAGE/PNG", PNG),
            ("image/gif", GIF),
            ("image/webp", LOSSLESS),
            ("image/webp", LOSSY),
            ("image/webp", EXTENDED),
            ("image/jpeg", jpeg.as_str()),
        ] {
            let picture = read(mime, data).unwrap().unwrap();
            assert_eq!((picture.width, picture.height), (3, 2), "{mime}");
            assert_eq!(picture.media, Media { data: data.to_owned(), mime: mime.to_lowercase() });
            assert_eq!(picture.bytes, STANDARD.decode(data).unwrap().len());
        }
    }

    #[test]
    fn what_is_not_what_it_is_called_is_refused() {
        let svg = br#"<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>"#;
        let html = b"<!doctype html><script>alert(1)</script>";
        for mime in ["image/png", "image/jpeg", "image/gif", "image/webp"] {
            for bytes in
                [&svg[..], html, b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"]
            {
                let why = of_bytes(mime, bytes).unwrap_err();
                assert_eq!(why, format!("a picture is called {mime} and is none"));
            }
        }
        assert!(read("image/jpeg", PNG).is_err() && read("image/png", GIF).is_err());
        assert!(of_bytes("image/png", &png_of(0, 9)).is_err());
    }

    #[test]
    fn every_beginning_of_a_picture_is_read_without_a_panic() {
        let jpeg = STANDARD.encode(jpeg_after(b"\xff\xe0\0\x04\0\0"));
        let all = [("image/png", PNG), ("image/gif", GIF), ("image/webp", LOSSLESS), ("image/webp", LOSSY)];
        for (mime, data) in all.into_iter().chain([("image/webp", EXTENDED), ("image/jpeg", jpeg.as_str())]) {
            let bytes = STANDARD.decode(data).unwrap();
            for end in 0..bytes.len() {
                let _read = of_bytes(mime, &bytes[..end]);
                let mut spoilt = bytes.clone();
                spoilt[end] = 0xff;
                let _read = of_bytes(mime, &spoilt);
            }
        }
    }

    #[test]
    fn other_types_are_none_and_wrong_base64_is_told() {
        for mime in
            ["image/svg+xml", "text/html", "data:image/png;base64,", "image/png;base64", "image/png, x", ""]
        {
            assert_eq!(read(mime, PNG), Ok(None), "{mime}");
        }
        for data in ["iVBOR", "iVBORw0KGgo", "data:image/png;base64,iVBORw0KGgo=", "iVBO Rw0K", "_-_-"] {
            assert!(read("image/png", data).unwrap_err().contains("no base64"), "{data}");
        }
    }

    #[test]
    fn a_large_picture_is_refused_by_its_bytes_and_by_its_pixels() {
        let mut bytes = png_of(3, 2);
        bytes.resize(LARGEST_PICTURE, 0);
        let largest = of_bytes("image/png", &bytes).unwrap().unwrap();
        bytes.push(0);
        assert_eq!(of_bytes("image/png", &bytes).unwrap_err(), "a picture has more than 1048576 bytes");
        // A hundred million are not even decoded.
        assert!(read("image/png", "!".repeat(100 << 20)).unwrap_err().contains("more than 1048576 bytes"));
        assert_eq!(Picture::fit(&[largest.clone(), largest.clone()]), Ok(()));
        assert!(
            Picture::fit(&[largest.clone(), largest.clone(), largest])
                .unwrap_err()
                .contains("bytes together")
        );
        let drawn = |width, height| of_bytes("image/png", &png_of(width, height)).unwrap().unwrap();
        assert_eq!(Picture::fit(&[drawn(4096, 4096)]), Ok(()));
        for all in
            [vec![drawn(4096, 4096), drawn(1, 1)], vec![drawn(u32::MAX, u32::MAX)], vec![drawn(u32::MAX, 1)]]
        {
            assert!(Picture::fit(&all).unwrap_err().contains("pixels together"));
        }
        assert_eq!(Picture::fit(&vec![drawn(1, 1); MOST_PICTURES]), Ok(()));
        assert!(Picture::fit(&vec![drawn(1, 1); MOST_PICTURES + 1]).is_err());
    }
}
