/** Steps of a check: each prints one line, a failed one does not end the run, the last line counts. */
export interface Steps {
  /** @returns what `run` returned, or undefined when it threw. A text is shown behind the step's name. */
  step<T>(name: string, run: () => Promise<T>): Promise<T | undefined>;
  ok(condition: boolean, why: string): void;
  equal(actual: unknown, wanted: unknown, why?: string): void;
  match(actual: string, wanted: RegExp): void;
  /** Prints the count. @returns exit code */
  end(): number;
}

export function createSteps(): Steps {
  let passed = 0;
  let failed = 0;
  const ok = (condition: boolean, why: string): void => {
    if (!condition) throw new Error(why);
  };
  return {
    async step(name, run) {
      try {
        const result = await run();
        passed += 1;
        console.log(`pass  ${name}${typeof result === "string" && result !== "" ? `: ${oneLine(result)}` : ""}`);
        return result;
      } catch (error) {
        failed += 1;
        console.log(`FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      }
    },
    ok,
    equal: (actual, wanted, why = "") =>
      ok(Object.is(actual, wanted), `is ${String(actual)}, must be ${String(wanted)}${why && `: ${why}`}`),
    match: (actual, wanted) => ok(wanted.test(actual), `${oneLine(actual)} does not match ${wanted}`),
    end() {
      console.log(`${passed} passed, ${failed} failed`);
      return failed === 0 ? 0 : 1;
    },
  };
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 240 ? `${line.slice(0, 240)}…` : line;
}
