/** Walking over a list of steps: what must be waited for, and that nothing but "next" leads on. */
import { describe, expect, test } from "vitest";

import { snapshotFrom } from "../../support/config.ts";
import { createFakeExchange, type FakeExchange } from "../../support/fake-exchange.ts";
import type { CompiledRoute } from "../../../runtime/config/compiled.ts";
import { prepareRoute } from "../../../runtime/proxy/prepared-route.ts";
import { createRequestContext } from "../../../runtime/proxy/request-context.ts";
import { runSteps, type Step } from "../../../runtime/proxy/steps.ts";
import { silentLog } from "../../../runtime/shared/log.ts";

const snapshot = snapshotFrom(`
  routes: [{ from: "https://app.example", to: "http://127.0.0.1:1", policy: [{ allow: { and: [{ accept: true }] } }] }]
`);
const prepared = prepareRoute(snapshot.routes[0] as CompiledRoute, snapshot.settings);

function walk(...steps: readonly Step[]): FakeExchange {
  const exchange = createFakeExchange();
  runSteps(steps, createRequestContext(exchange, snapshot, prepared, undefined, undefined), silentLog());
  return exchange;
}

/** Steps that note when they were taken. */
function noting(taken: string[]): (name: string, outcome: ReturnType<Step>) => Step {
  return (name, outcome) => () => {
    taken.push(name);
    return outcome;
  };
}

describe("runSteps()", () => {
  test("takes all steps before it returns where nothing must be waited for, up to the first that is done", () => {
    const taken: string[] = [];
    const step = noting(taken);
    walk(
      step("first", "next"),
      step("waits for nothing", (resume) => resume()),
      step("done", "done"),
      step("never", "next"),
    );
    expect(taken).toEqual(["first", "waits for nothing", "done"]);
  });

  test("continues when a promise resolves or a waiting step resumes", async () => {
    const taken: string[] = [];
    const step = noting(taken);
    const { promise, resolve } = Promise.withResolvers<"next">();
    let resume = (): void => {};
    const waited = Promise.withResolvers<void>();
    walk(
      step("promise", promise),
      step("events", (goOn) => {
        resume = goOn;
        waited.resolve();
      }),
      step("last", "done"),
    );
    expect(taken).toEqual(["promise"]);
    resolve("next");
    await waited.promise;
    expect(taken).toEqual(["promise", "events"]);
    resume();
    expect(taken).toEqual(["promise", "events", "last"]);
  });

  test("a promise that is done ends the list", async () => {
    const taken: string[] = [];
    const step = noting(taken);
    walk(step("promise", Promise.resolve("done")), step("never", "done"));
    await new Promise(setImmediate);
    expect(taken).toEqual(["promise"]);
  });

  test.each<readonly [string, Step]>([
    [
      "throws at once",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
    [
      "throws while it waits",
      () => () => {
        throw new Error("broken");
      },
    ],
    ["leaves the list without an answer", () => "next"],
  ])("a step that %s is answered 500", async (_, step) => {
    const exchange = walk(step);
    await new Promise(setImmediate);
    expect(exchange.status).toBe(500);
  });

  test("a step that throws does not lead to the next one", () => {
    const taken: string[] = [];
    walk(
      () => {
        throw new Error("broken");
      },
      noting(taken)("never", "done"),
    );
    expect(taken).toEqual([]);
  });
});
