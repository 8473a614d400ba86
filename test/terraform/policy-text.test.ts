import { expect, test } from "vitest";

import { policyText, readPolicy, samePolicyText } from "../../runtime/terraform/schema/policy-text.ts";

const POLICY = '[{"allow":{"and":[{"domain":"example.com"}]}}]';

test("readPolicy() reads one policy, or says why the text is none, as often as it is asked", () => {
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(readPolicy(POLICY)).toEqual({ ok: true, policy: [{ allow: { and: [{ domain: "example.com" }] } }] });
    expect(readPolicy("allow")).toMatchObject({ ok: false, problem: expect.stringContaining("is not JSON") as string });
    expect(readPolicy('{"allow":{},"allow":{}}')).toMatchObject({
      ok: false,
      problem: expect.stringContaining("twice") as string,
    });
    // Closes the document around it and would add a member.
    expect(readPolicy('[]},"x":{}')).toMatchObject({ ok: false });
  }
});

test("samePolicyText() compares the meaning of policies, and invalid ones as data", () => {
  expect(samePolicyText(POLICY, '[ {"allow": {"and": [{"domain": {"is": "example.com"}}]}} ]')).toBe(true);
  expect(samePolicyText(POLICY, POLICY.replace("com", "org"))).toBe(false);
  expect(samePolicyText('{"alow": 1}', '{ "alow": 1 }')).toBe(true);
  expect(samePolicyText("allow", "deny")).toBe(true);
  expect(samePolicyText("allow", POLICY)).toBe(false);
});

test("policyText() keeps the user's text while it says the same", () => {
  const policy: unknown = JSON.parse(POLICY);
  const written = '[{"allow":{"and":[{"domain":{"is":"example.com"}}]}}]';
  expect(policyText(policy, written)).toBe(written);
  expect(policyText(policy, "[]")).toBe(POLICY);
  expect(policyText(undefined, written)).toBeNull();
});
