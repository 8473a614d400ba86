/**
 * Tests of the transport with scripted upstreams: all of a test's are closed after it, and the contract of receivers is
 * checked.
 */
import { afterEach, beforeEach, expect } from "vitest";

import { violations } from "./ask-upstream.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "./scripted-upstream.ts";

/**
 * Call it once in a test file, outside of tests.
 *
 * @param closeTransport closes the transport of the test that ends, before its upstreams
 * @returns `startScriptedUpstream`, for an upstream that lives as long as the test that started it
 */
export function upstreamsOfEachTest(closeTransport: () => Promise<void>): typeof startScriptedUpstream {
  const upstreams: ScriptedUpstream[] = [];
  beforeEach(() => {
    violations.length = 0;
  });
  afterEach(async () => {
    await closeTransport();
    await Promise.all(upstreams.splice(0).map((each) => each.close()));
    expect(violations).toEqual([]);
  });
  return async (...parameters) => {
    const upstream = await startScriptedUpstream(...parameters);
    upstreams.push(upstream);
    return upstream;
  };
}
