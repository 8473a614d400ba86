/** Set up before each test file: places of instrumented sources that its tests reach go into a file of their own. */
import { appendFileSync } from "node:fs";

import { afterAll, expect } from "vitest";

const { MUTATION_REACHED } = process.env;

if (MUTATION_REACHED !== undefined) {
  const reached = new Set<string>();
  Object.assign(globalThis, { __reached: (url: string, place: number) => reached.add(`${url} ${place}`) });
  afterAll(() => {
    appendFileSync(
      MUTATION_REACHED,
      `${JSON.stringify({ test: expect.getState().testPath, reached: [...reached] })}\n`,
    );
  });
}
