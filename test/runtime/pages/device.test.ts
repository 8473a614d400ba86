import { describe, expect, test } from "vitest";

import { devicePage, type CeremonyParts } from "../../../runtime/pages/device.ts";

const ceremony: CeremonyParts = {
  kind: "create",
  options: { rp: '"><script>' },
  action: "/.gateway/webauthn",
  csrfToken: "c",
  ticket: "t",
  request: undefined,
};
const NONE = { prove: undefined, registerBuiltIn: undefined, registerOther: undefined };

describe("devicePage()", () => {
  test.each([
    ["Use a registered device", { prove: ceremony, registerBuiltIn: ceremony, registerOther: ceremony }],
    ["Register this device", { ...NONE, registerBuiltIn: ceremony, registerOther: ceremony }],
    ["Register another device", { ...NONE, registerOther: ceremony }],
  ])("has one primary action: %s", (action, ways) => {
    const text = devicePage({
      user: "alice@example.com",
      address: "app.example.com",
      scriptPath: "/.gateway/webauthn.js",
      isFull: false,
      ...ways,
    })();
    const primary = [...text.matchAll(/<(?:button|a)[^>]* class="[^"]*\bprimary\b[^"]*"[^>]*>([^<]*)</g)];
    expect(primary.map(([, words]) => words)).toEqual([action]);
    expect(text).not.toContain('"><script>');
  });
});
