import * as fc from "fast-check";
import { expect, test } from "vitest";

import { createFairQueue, type Queued } from "../../../../runtime/http/admission/fair-queue.ts";

interface Model {
  readonly id: number;
  readonly client: string;
  readonly at: number;
  passedOver: boolean;
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("add" as const), client: fc.constantFrom("a", "b", "c") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("take" as const), ago: fc.integer({ min: 0, max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("oldest" as const), ago: fc.integer({ min: 0, max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), which: fc.nat(30) }) },
);

test("createFairQueue() returns the same as a linear search of plain lists", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = createFairQueue<number>();
      const handles = new Map<number, Queued<number>>();
      let model: Model[] = [];
      let turns: string[] = [];
      const canTake = (client: string) => model.some((each) => each.client === client && !each.passedOver);
      const drop = (id: number): void => {
        model = model.filter((each) => each.id !== id);
        turns = turns.filter(canTake);
      };
      steps.forEach((each, now) => {
        if (each.do === "add") {
          handles.set(now, queue.add(each.client, now, now));
          model.push({ id: now, client: each.client, at: now, passedOver: false });
          if (!turns.includes(each.client)) turns.push(each.client);
        } else if (each.do === "take") {
          const since = now - each.ago;
          let expected: number | undefined;
          for (let client = turns.shift(); client !== undefined; client = turns.shift()) {
            const own = model.filter((one) => one.client === client && !one.passedOver);
            const inTime = own.find((one) => one.at > since);
            for (const late of own) late.passedOver ||= late.at <= since;
            if (inTime === undefined) continue;
            expected = inTime.id;
            model = model.filter((one) => one !== inTime);
            if (canTake(client)) turns.push(client);
            break;
          }
          expect(queue.take(since)).toBe(expected);
        } else if (each.do === "oldest") {
          const [oldest] = model;
          const expected = oldest !== undefined && oldest.at <= now - each.ago ? oldest.id : undefined;
          expect(queue.takeOldest(now - each.ago)).toBe(expected);
          if (expected !== undefined) drop(expected);
        } else {
          const known = [...handles.entries()][each.which];
          if (known === undefined) return;
          queue.remove(known[1]);
          queue.remove(known[1]);
          drop(known[0]);
        }
        expect(queue.size).toBe(model.length);
        expect(queue.clients()).toBe(new Set(model.map(({ client }) => client)).size);
        for (const client of ["a", "b", "c"]) {
          expect(queue.waitingOf(client)).toBe(model.filter((one) => one.client === client).length);
        }
      });
    }),
    { numRuns: 300 },
  );
});
