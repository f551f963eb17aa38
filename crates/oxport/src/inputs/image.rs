//! Pictures as inputs: PNG, JPEG and binary PPM or PGM, resized and normalized.
//!
//! Invariant: the pixels are those of the file, 8 bits a channel, without color management; resizing is bilinear with a
//! filter that widens as the picture shrinks, as Pillow's `resize(…, BILINEAR)` and torchvision's `antialias=True`.

use crate::{DType, Error, Fake, Result, Tensor};
use oxport_sym::Expr;
use std::path::Path;

/// How pictures become tensors.
#[derive(Clone, Debug, Default)]
pub struct ImageOptions {
    /// Height and width; by default those of the input, else those of the picture.
    pub size: Option<(usize, usize)>,
    /// Subtracted from each channel, which is in `0..=1`; one number for all, or one each.
    pub mean: Vec<f64>,
    /// Each channel is divided by it, likewise.
    pub std: Vec<f64>,
}

/// A decoded picture: rows of pixels of some channels, 8 bits each.
struct Picture {
    height: usize,
    width: usize,
    channels: usize,
    pixels: Vec<u8>,
}

/// Where an input has its channels.
struct Place {
    channels: usize,
    is_last: bool,
    size: Option<(usize, usize)>,
}

/// Reads a picture for an input with this meta: `[N, C, H, W]`, `[C, H, W]`, or with the channels last. An input of
/// `uint8` gets the pixels as they are; any other floats in `0..=1`, normalized.
///
/// # Errors
/// The file is no picture, the input cannot take one, or there are too many means.
pub fn read_image(path: &Path, bytes: &[u8], input: &Fake, options: &ImageOptions) -> Result<Tensor> {
    let fail = |message: String| Error::data(format!("{}: {message}", path.display()));
    let place = place(input).ok_or_else(|| {
        Error::usage(format!(
            "{}: an input {input} cannot take a picture: expected 3 or 4 dimensions, one of 1, 3 or 4 channels",
            path.display()
        ))
    })?;
    let picture = decode(bytes).map_err(fail)?.with_channels(place.channels).map_err(fail)?;
    let (height, width) = options.size.or(place.size).unwrap_or((picture.height, picture.width));
    if height == 0 || width == 0 || height.saturating_mul(width) > MAX_PIXELS {
        return Err(Error::usage(format!("expected a picture size of 1 to {MAX_PIXELS} pixels, got {height}x{width}")));
    }
    let pixels = picture.resized(height, width);
    let channels = place.channels;
    let each = |list: &[f64], what: &str, usual: f64| match list.len() {
        0 => Ok(vec![usual; channels]),
        1 => Ok(vec![list[0]; channels]),
        n if n == channels => Ok(list.to_vec()),
        n => Err(Error::usage(format!("expected 1 or {channels} numbers as the {what}, got {n}"))),
    };
    let (mean, std) = (each(&options.mean, "mean", 0.0)?, each(&options.std, "standard deviation", 1.0)?);
    let is_raw = input.dtype == DType::U8;
    let value = |c: usize, x: u8| if is_raw { f64::from(x) } else { (f64::from(x) / 255.0 - mean[c]) / std[c] };
    let mut out = vec![0f32; pixels.len()];
    for (i, x) in pixels.iter().enumerate() {
        let (pixel, c) = (i / channels, i % channels);
        let at = if place.is_last { i } else { c * height * width + pixel };
        out[at] = value(c, *x) as f32;
    }
    let [h, w, c] = [height as i64, width as i64, channels as i64];
    let mut sizes = if place.is_last { vec![h, w, c] } else { vec![c, h, w] };
    if input.dim() == 4 {
        sizes.insert(0, 1);
    }
    Ok(Tensor::from_vec(&sizes, out)?.to_dtype(input.dtype)?)
}

/// The most pixels of a picture.
const MAX_PIXELS: usize = 1 << 26;

fn place(input: &Fake) -> Option<Place> {
    let sizes = match input.dim() {
        3 => &input.sizes[..],
        4 => &input.sizes[1..],
        _ => return None,
    };
    let known = |e: &Expr| e.as_int().and_then(|n| usize::try_from(n).ok());
    let is_channels = |e: &Expr| known(e).filter(|n| matches!(n, 1 | 3 | 4));
    let size = |h: &Expr, w: &Expr| known(h).zip(known(w));
    match (is_channels(&sizes[0]), is_channels(&sizes[2])) {
        (Some(channels), _) => Some(Place { channels, is_last: false, size: size(&sizes[1], &sizes[2]) }),
        (None, Some(channels)) => Some(Place { channels, is_last: true, size: size(&sizes[0], &sizes[1]) }),
        _ => None,
    }
}

fn decode(bytes: &[u8]) -> Result<Picture, String> {
    let picture = match bytes {
        [0x89, b'P', b'N', b'G', ..] => decode_png(bytes),
        [0xff, 0xd8, ..] => decode_jpeg(bytes),
        [b'P', b'5' | b'6', ..] => decode_ppm(bytes).ok_or_else(|| "the picture is damaged".to_string()),
        _ => Err("expected a picture (PNG, JPEG, binary PPM)".to_string()),
    }?;
    let count = picture.height.saturating_mul(picture.width).saturating_mul(picture.channels);
    match count > 0 && count == picture.pixels.len() {
        true => Ok(picture),
        false => Err("the picture has no pixels, or too few".to_string()),
    }
}

#[cfg(not(feature = "images"))]
use without_images as decode_png;
#[cfg(not(feature = "images"))]
use without_images as decode_jpeg;

#[cfg(not(feature = "images"))]
fn without_images(_: &[u8]) -> Result<Picture, String> {
    Err("PNG and JPEG need the feature `images`, without which oxport was built".to_string())
}

#[cfg(feature = "images")]
fn decode_png(bytes: &[u8]) -> Result<Picture, String> {
    let limits = png::Limits { bytes: MAX_PIXELS * 4 };
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    let size = reader.output_buffer_size().filter(|n| *n <= MAX_PIXELS * 4);
    let mut pixels = vec![0; size.ok_or("the picture is too large")?];
    let info = reader.next_frame(&mut pixels).map_err(|e| e.to_string())?;
    pixels.truncate(info.buffer_size());
    let (width, height) = (info.width as usize, info.height as usize);
    Ok(Picture { height, width, channels: info.color_type.samples(), pixels })
}

#[cfg(feature = "images")]
fn decode_jpeg(bytes: &[u8]) -> Result<Picture, String> {
    use zune_jpeg::zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let options = options.set_max_width(1 << 15).set_max_height(1 << 15);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|e| e.to_string())?;
    let count = decoder.dimensions().map_or(0, |(width, height)| width.saturating_mul(height));
    if count > MAX_PIXELS {
        return Err(format!("the picture is too large: {count} pixels, more than {MAX_PIXELS}"));
    }
    let pixels = decoder.decode().map_err(|e| e.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("the picture has no size")?;
    Ok(Picture { height, width, channels: pixels.len() / (width * height).max(1), pixels })
}

/// `P6 WIDTH HEIGHT 255`, and the bytes; `P5` has one channel.
fn decode_ppm(bytes: &[u8]) -> Option<Picture> {
    let (mut at, mut numbers) = (2, [0usize; 3]);
    for number in &mut numbers {
        loop {
            match bytes.get(at)? {
                b'#' => at += bytes[at..].iter().position(|b| *b == b'\n')?,
                b if b.is_ascii_whitespace() => at += 1,
                _ => break,
            }
        }
        let end = at + bytes[at..].iter().position(|b| !b.is_ascii_digit())?;
        *number = std::str::from_utf8(&bytes[at..end]).ok()?.parse().ok()?;
        at = end;
    }
    let [width, height, most] = numbers;
    let channels = if bytes[1] == b'6' { 3 } else { 1 };
    let count = width.checked_mul(height)?.checked_mul(channels)?;
    let pixels = bytes.get(at + 1..)?.get(..count).filter(|_| most == 255)?.to_vec();
    Some(Picture { height, width, channels, pixels })
}

impl Picture {
    /// The picture with that many channels: gray is repeated, colors are weighted as ITU-R 601 does, opacity is dropped
    /// or full.
    fn with_channels(self, wanted: usize) -> Result<Picture, String> {
        let Picture { height, width, channels, pixels } = self;
        if channels == wanted {
            return Ok(Picture { height, width, channels, pixels });
        }
        if channels == 0 || channels > 4 {
            return Err(format!("a picture of {channels} channels"));
        }
        let has_color = channels >= 3;
        let pixel = |p: &[u8]| -> Vec<u8> {
            let rgb = if has_color { [p[0], p[1], p[2]] } else { [p[0]; 3] };
            let gray =
                (u32::from(rgb[0]) * 19595 + u32::from(rgb[1]) * 38470 + u32::from(rgb[2]) * 7471 + 0x8000) >> 16;
            match wanted {
                1 => vec![gray as u8],
                3 => rgb.to_vec(),
                _ => vec![rgb[0], rgb[1], rgb[2], if channels == 2 { p[1] } else { 255 }],
            }
        };
        let pixels = pixels.chunks_exact(channels).flat_map(pixel).collect();
        Ok(Picture { height, width, channels: wanted, pixels })
    }

    /// The pixels at another size: along the rows first, then along the columns.
    fn resized(&self, height: usize, width: usize) -> Vec<u8> {
        let wide = resample(&self.pixels, self.height, self.width, self.channels, width);
        resample(&wide, 1, self.height, width * self.channels, height)
    }
}

/// Resamples the middle dimension of `[outer, length, inner]` to a new length by a triangle filter. The weights are
/// integers, as in Pillow, so that the same pixels result.
fn resample(pixels: &[u8], outer: usize, length: usize, inner: usize, wanted: usize) -> Vec<u8> {
    const BITS: u32 = 22;
    if length == wanted {
        return pixels.to_vec();
    }
    let scale = length as f64 / wanted as f64;
    let reach = scale.max(1.0);
    let mut out = vec![0u8; outer * wanted * inner];
    for i in 0..wanted {
        let center = (i as f64 + 0.5) * scale;
        let first = (center - reach + 0.5).max(0.0) as usize;
        let last = ((center + reach + 0.5) as usize).min(length);
        let weight = |x: usize| (1.0 - ((x as f64 + 0.5 - center) / reach).abs()).max(0.0);
        let sum: f64 = (first..last).map(weight).sum();
        let weights: Vec<i64> =
            (first..last).map(|x| (weight(x) / sum * f64::from(1u32 << BITS)).round() as i64).collect();
        for o in 0..outer {
            for k in 0..inner {
                let from = |x: usize| i64::from(pixels[(o * length + x) * inner + k]);
                let value: i64 = weights.iter().enumerate().map(|(j, w)| w * from(first + j)).sum();
                let rounded = (value + (1 << (BITS - 1))) >> BITS;
                out[(o * wanted + i) * inner + k] = rounded.clamp(0, 255) as u8;
            }
        }
    }
    out
}
