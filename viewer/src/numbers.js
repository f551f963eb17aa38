// Numbers as people read them.

/** Nanoseconds: `830 ns`, `1.24 µs`. */
export function time(ns) {
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(ns < 1e4 ? 2 : 1)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(ns < 1e7 ? 2 : 1)} ms`;
  return `${(ns / 1e9).toFixed(2)} s`;
}

/** `12.3 M`. */
export function count(n) {
  const units = ["", " k", " M", " G", " T", " P"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) [n, at] = [n / 1000, at + 1];
  return `${at === 0 ? Math.round(n) : n.toFixed(n < 10 ? 2 : 1)}${units[at]}`;
}

/** A part of a whole: `12.5 %`. */
export function share(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
}
