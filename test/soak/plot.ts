/** Operations a second with the faults below them, as SVG. */
import type { StoreReport } from "./report.ts";

const WIDTH = 1200;
const LEFT = 60;
const TOP = 40;
const HEIGHT = 260;
const LANE = 18;

/** Colours that people who cannot tell red from green can tell. */
const COLOURS = { ok: "#4477aa", refused: "#ccbb44", unknown: "#ee6677" } as const;
const NAMES = { ok: "done", refused: "refused", unknown: "no answer" } as const;

export function plotSvg(report: StoreReport): string {
  const { perSecond, faults } = report;
  const duration = Math.max(1, perSecond.length);
  const most = Math.max(1, ...perSecond.map(({ ok, refused, unknown }) => ok + refused + unknown));
  const x = (second: number): number => LEFT + ((WIDTH - LEFT - 20) * second) / duration;
  const y = (count: number): number => TOP + HEIGHT - (HEIGHT * count) / most;
  const outcomes = ["ok", "refused", "unknown"] as const;

  const bars = perSecond.flatMap((counts, second) => {
    let below = 0;
    return outcomes.map((outcome) => {
      const from = below;
      below += counts[outcome];
      if (counts[outcome] === 0) return "";
      const size = [round(x(second)), round(y(below)), round(x(1) - x(0)), round(y(from) - y(below))];
      return `<rect x="${size[0]}" y="${size[1]}" width="${size[2]}" height="${size[3]}" fill="${COLOURS[outcome]}"/>`;
    });
  });
  const names = [...new Set(faults.map(({ name }) => name))];
  const lanes = faults.flatMap(({ name, beganMs, lastedMs, recoveredMs }) => {
    const top = TOP + HEIGHT + 40 + names.indexOf(name) * LANE;
    const [from, healed] = [x(beganMs / 1000), x((beganMs + lastedMs) / 1000)];
    const until = x((beganMs + lastedMs + (recoveredMs ?? 0)) / 1000);
    return [
      `<rect x="${round(from)}" y="${TOP}" width="${round(healed - from)}" height="${HEIGHT}" fill="#000" opacity="0.06"/>`,
      `<rect x="${round(from)}" y="${top}" width="${round(Math.max(2, healed - from))}" height="${LANE - 5}" fill="#aa3377"/>`,
      `<rect x="${round(healed)}" y="${top}" width="${round(until - healed)}" height="${LANE - 5}" fill="#aa3377" opacity="0.35"/>`,
    ];
  });
  const lastLane = TOP + HEIGHT + 40 + names.length * LANE;
  const labels = names.map((name, index) => {
    const first = faults.find((each) => each.name === name);
    const at = x((first?.beganMs ?? 0) / 1000);
    const isRight = at > WIDTH / 2;
    const top = TOP + HEIGHT + 40 + index * LANE + LANE - 8;
    return `<text x="${round(isRight ? at - 6 : at)}" y="${top}" text-anchor="${isRight ? "end" : "start"}" ${isRight ? "" : `dx="${round(labelShift(report, name, x))}"`}>${name}</text>`;
  });
  const step = [1, 2, 5, 10, 20, 30, 60, 120, 300].find((each) => duration / each <= 15) ?? 600;
  const ticks = Array.from({ length: Math.floor(duration / step) + 1 }, (_, index) => index * step).map(
    (second) =>
      `<line x1="${round(x(second))}" x2="${round(x(second))}" y1="${TOP + HEIGHT}" y2="${TOP + HEIGHT + 5}" stroke="#555"/><text x="${round(x(second))}" y="${TOP + HEIGHT + 18}" text-anchor="middle">${second} s</text>`,
  );
  const legend = outcomes.map(
    (outcome, index) =>
      `<rect x="${LEFT + 420 + index * 110}" y="14" width="12" height="12" fill="${COLOURS[outcome]}"/><text x="${LEFT + 438 + index * 110}" y="24">${NAMES[outcome]}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${lastLane + 20}" width="${WIDTH}" height="${lastLane + 20}" font-family="sans-serif" font-size="12" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LEFT}" y="24" font-size="15">Operations a second: ${report.store}, ${report.replicas} replicas</text>
${legend.join("\n")}
<text x="${LEFT - 8}" y="${TOP + 4}" text-anchor="end">${most}</text><text x="${LEFT - 8}" y="${TOP + HEIGHT}" text-anchor="end">0</text>
${bars.filter((bar) => bar !== "").join("\n")}
<line x1="${LEFT}" x2="${WIDTH - 20}" y1="${TOP + HEIGHT}" y2="${TOP + HEIGHT}" stroke="#555"/>
${ticks.join("\n")}
${lanes.join("\n")}
${labels.join("\n")}
</svg>
`;
}

/** Behind the last span of its lane. */
function labelShift({ faults }: StoreReport, name: string, x: (second: number) => number): number {
  const spans = faults.filter((each) => each.name === name);
  const first = x((spans[0]?.beganMs ?? 0) / 1000);
  const ends = spans.map(({ beganMs, lastedMs, recoveredMs }) => x((beganMs + lastedMs + (recoveredMs ?? 0)) / 1000));
  return Math.max(...ends) - first + 6;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
