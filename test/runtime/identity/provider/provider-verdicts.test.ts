import { expect, test } from "vitest";

import { createProviderVerdicts } from "../../../../runtime/identity/provider/provider-verdicts.ts";
import { GatewayError } from "../../../../runtime/shared/errors.ts";
import { createTestClock } from "../../../support/clock.ts";

const HOUR_MS = 3_600_000;
const ISSUER = "https://idp.example.com";
const UNAVAILABLE = new GatewayError("idp.unavailable", "500");

test("a user behind ten thousand without a usable response is known as well", () => {
  const clock = createTestClock();
  const standing = createProviderVerdicts(clock);
  for (let index = 0; index < 10_000; index += 1) standing.failed(ISSUER, `u-${index}`, UNAVAILABLE, HOUR_MS);
  expect(standing.failed(ISSUER, "mallory", UNAVAILABLE, HOUR_MS)).toBe("unavailable");
  clock.advance(HOUR_MS);
  standing.confirmed(ISSUER, "alice");
  expect(standing.failed(ISSUER, "mallory", UNAVAILABLE, HOUR_MS)).toBe("unconfirmed");
});

const DENIED = new GatewayError("idp.denied", "400 invalid_request");

test("a user rejected twice loses access if others are confirmed in between, however rare the checks", () => {
  const clock = createTestClock();
  const standing = createProviderVerdicts(clock);
  const look = () => standing.failed(ISSUER, "mallory", DENIED, 2 * HOUR_MS);
  expect(look()).toBe("unavailable");
  clock.advance(15 * 60_000);
  // A provider that is out of order for long refuses its few users one at a time.
  expect(look()).toBe("unavailable");
  standing.confirmed(ISSUER, "alice");
  clock.advance(15 * 60_000);
  expect(look()).toBe("refused");
});

test("the first rejection no longer counts after a confirmation, or after an hour", () => {
  const clock = createTestClock();
  const standing = createProviderVerdicts(clock);
  const look = () => standing.failed(ISSUER, "alice", DENIED, 2 * HOUR_MS);
  expect(look()).toBe("unavailable");
  standing.confirmed(ISSUER, "alice");
  clock.advance(60_000);
  expect(look()).toBe("unavailable");
  clock.advance(HOUR_MS + 1);
  expect(look()).toBe("unavailable");
});
