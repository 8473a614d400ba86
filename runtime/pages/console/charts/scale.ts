/** The axis of a chart: from values to places on it, with round numbers next to it. Pure. */

export interface Scale {
  /** Labeled values, evenly spaced, the lowest first. */
  readonly ticks: readonly number[];
  /** 0 at the bottom, 1 at the top. */
  place(value: number): number;
}

/** From zero to a round number above the highest value. @param least of a step: 1 for counts */
export function linearScale(highest: number, parts = 3, least = 0): Scale {
  const most = highest > 0 ? highest : 1;
  const step = Math.max(least, roundStep(most / parts));
  const count = Math.ceil(most / step - 1e-9);
  const top = step * count;
  // Not by adding up, which would make 0.30000000000000004 of it.
  const ticks = Array.from({ length: count + 1 }, (_, index) => Number((step * index).toPrecision(6)));
  return { ticks, place: (value) => clamp(value / top) };
}

/** Whole decades around the values, so that equal factors have equal heights. */
export function logScale(lowest: number, highest: number): Scale {
  const from = Math.floor(Math.log10(lowest) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(highest) - 1e-9));
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => Number((10 ** (from + index)).toPrecision(6)));
  return { ticks, place: (value) => (value > 0 ? clamp((Math.log10(value) - from) / (to - from)) : 0) };
}

/** 1, 2 or 5 times a power of ten, not below the given. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((each) => each * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

/** Made once: making it costs a hundred times as much as using it. */
const NUMBER = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Three significant digits: 1,240 · 12.4 · 0.012. */
export function shortNumber(value: number): string {
  return value === 0 ? "0" : NUMBER.format(value);
}

/** "250 µs", "12 ms", "1.5 s". */
export function shortMs(ms: number): string {
  if (ms >= 1000) return `${shortNumber(ms / 1000)} s`;
  return ms >= 1 || ms === 0 ? `${shortNumber(ms)} ms` : `${shortNumber(ms * 1000)} µs`;
}
