/** Operations a second with the faults below them, as SVG. */
import { type Area, AXIS, bar, bottomAxis, COLOURS, legend, svg, text } from "../support/plot/frame.ts";
import type { StoreReport } from "./report.ts";

const WIDTH = 1200;
const LEFT = 60;
const TOP = 40;
const HEIGHT = 260;
const LANE = 18;

const OUTCOMES = [
  { outcome: "ok", name: "done", colour: COLOURS[0] },
  { outcome: "refused", name: "refused", colour: COLOURS[3] },
  { outcome: "unknown", name: "no answer", colour: COLOURS[1] },
] as const;
const FAULT = COLOURS[5];

export function plotSvg(report: StoreReport): string {
  const { perSecond, faults } = report;
  const duration = Math.max(1, perSecond.length);
  const most = Math.max(1, ...perSecond.map(({ ok, refused, unknown }) => ok + refused + unknown));
  const x = (second: number): number => LEFT + ((WIDTH - LEFT - 20) * second) / duration;
  const y = (count: number): number => TOP + HEIGHT - (HEIGHT * count) / most;
  const area: Area = { left: LEFT, top: TOP, right: WIDTH - 20, bottom: TOP + HEIGHT };

  const bars = perSecond.flatMap((counts, second) => {
    let below = 0;
    return OUTCOMES.map(({ outcome, colour }) => {
      const from = below;
      below += counts[outcome];
      if (counts[outcome] === 0) return "";
      return bar(x(second), y(below), x(1) - x(0), y(from) - y(below), colour);
    });
  });
  const names = [...new Set(faults.map(({ name }) => name))];
  const lanes = faults.flatMap(({ name, beganMs, lastedMs, recoveredMs }) => {
    const top = TOP + HEIGHT + 40 + names.indexOf(name) * LANE;
    const [from, healed] = [x(beganMs / 1000), x((beganMs + lastedMs) / 1000)];
    const until = x((beganMs + lastedMs + (recoveredMs ?? 0)) / 1000);
    return [
      bar(from, TOP, healed - from, HEIGHT, "#000", 0.06),
      bar(from, top, Math.max(2, healed - from), LANE - 5, FAULT),
      bar(healed, top, until - healed, LANE - 5, FAULT, 0.35),
    ];
  });
  const lastLane = TOP + HEIGHT + 40 + names.length * LANE;
  const labels = names.map((name, index) => {
    const first = faults.find((each) => each.name === name);
    const at = x((first?.beganMs ?? 0) / 1000);
    const isRight = at > WIDTH / 2;
    const top = TOP + HEIGHT + 40 + index * LANE + LANE - 8;
    return isRight ? text(at - 6, top, name, { anchor: "end" }) : text(at + labelShift(report, name, x), top, name);
  });
  const step = [1, 2, 5, 10, 20, 30, 60, 120, 300].find((each) => duration / each <= 15) ?? 600;
  const ticks = Array.from({ length: Math.floor(duration / step) + 1 }, (_, index) => index * step).map((second) => ({
    at: x(second),
    label: `${second} s`,
  }));
  return svg(WIDTH, lastLane + 20, [
    text(LEFT, 24, `Operations a second: ${report.store}, ${report.replicas} replicas`, { size: 15 }),
    ...legend(OUTCOMES, { x: LEFT + 420, y: 24, width: 500 }).elements,
    text(LEFT - 8, TOP + 4, String(most), { anchor: "end", fill: AXIS }),
    text(LEFT - 8, TOP + HEIGHT, "0", { anchor: "end", fill: AXIS }),
    ...bars,
    ...bottomAxis(area, ticks),
    ...lanes,
    ...labels,
  ]);
}

/** Behind the last span of its lane. */
function labelShift({ faults }: StoreReport, name: string, x: (second: number) => number): number {
  const spans = faults.filter((each) => each.name === name);
  const first = x((spans[0]?.beganMs ?? 0) / 1000);
  const ends = spans.map(({ beganMs, lastedMs, recoveredMs }) => x((beganMs + lastedMs + (recoveredMs ?? 0)) / 1000));
  return Math.max(...ends) - first + 6;
}
