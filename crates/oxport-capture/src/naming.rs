//! The stems of names as PyTorch has them: of placeholders and symbols by `torch.export`.

/// The placeholder of a lifted tensor: `layer.0.weight` → `p_layer_0_weight`; `self_attn.bias` → `p_attn_bias`, as
/// PyTorch takes
/// every `self_` for that of a method.
pub(crate) fn lifted(prefix: &str, name: &str) -> String {
    let name = name.strip_prefix("L__self___").or_else(|| name.strip_prefix("self_")).unwrap_or(name);
    let clean = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    prefix.chars().chain(clean).collect()
}

/// The number of a symbol for a size: the SHA-256 of its source, modulo 100, or the next that is free, as in
/// `ShapeEnv._generate_unique_id`.
pub(crate) fn symbol_number(source: &str, is_taken: &dyn Fn(u64) -> bool) -> u64 {
    let modulo = sha256(source.as_bytes()).iter().fold(0u64, |n, byte| (n * 256 + u64::from(*byte)) % 100);
    (modulo..).find(|n| !is_taken(*n)).unwrap_or(modulo)
}

/// FIPS 180-4.
fn sha256(message: &[u8]) -> [u8; 32] {
    let primes: Vec<u64> = (2..312u64).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).collect();
    // The first 32 bits of the fractional parts of cube roots: floor(cbrt(p) * 2^32) mod 2^32, by integer search.
    let root = |p: u64, power: u32| -> u32 {
        let target = u128::from(p) << (32 * power);
        let (mut low, mut high) = (0u128, 1u128 << 37);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.pow(power) <= target { low = middle } else { high = middle }
        }
        low as u32
    };
    let constants: Vec<u32> = primes.iter().take(64).map(|p| root(*p, 3)).collect();
    let mut state: Vec<u32> = primes.iter().take(8).map(|p| root(*p, 2)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut w: Vec<u32> = block.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(constants[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0).wrapping_add(majority);
        }
        state.iter_mut().zip(v).for_each(|(s, v)| *s = s.wrapping_add(v));
    }
    let mut digest = [0; 32];
    digest.chunks_exact_mut(4).zip(state).for_each(|(out, word)| out.copy_from_slice(&word.to_be_bytes()));
    digest
}
