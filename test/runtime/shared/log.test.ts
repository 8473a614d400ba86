/** What the operator's log says, and what it never says. */
import { describe, expect, test } from "vitest";

import { GatewayError } from "../../../runtime/shared/errors.ts";
import { createLog } from "../../../runtime/shared/log.ts";

function logged(fields: object): Record<string, unknown> {
  let line = "";
  createLog({ destination: { write: (text) => void (line += text) } }).info(fields, "said");
  return JSON.parse(line) as Record<string, unknown>;
}

describe("createLog()", () => {
  test.each(["code", "token", "client_secret", "cookie", "code_verifier"])(
    "never logs the value of %s, at both depths",
    (name) => {
      expect(logged({ [name]: "SplxlOBeZQQYbYS6WxSbIA" })).toMatchObject({ [name]: "[redacted]" });
      expect(logged({ query: { [name]: "SplxlOBeZQQYbYS6WxSbIA" } })).toMatchObject({
        query: { [name]: "[redacted]" },
      });
      expect(logged({ err: { [name]: "SplxlOBeZQQYbYS6WxSbIA" } })).toMatchObject({ err: { [name]: "[redacted]" } });
    },
  );

  test("has nothing in a line that steers a terminal, and reads as it was said", () => {
    const evil = "issuer\u009b31m\u202e\u2066\u2028\u{e0041}\u007f\n";
    let line = "";
    createLog({ destination: { write: (text) => void (line += text) } }).info({ detail: evil }, "said");
    expect(line).toMatch(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(line)).toMatchObject({ detail: evil });
  });

  test("logs the code of an error: ours and Node's, and no other value in its place", () => {
    const failed = (code: unknown) => Object.assign(new Error("x"), { code });
    expect(logged({ err: new GatewayError("idp.unreachable", "x") })).toMatchObject({
      err: { failure: "idp.unreachable" },
    });
    expect(logged({ err: failed("ECONNREFUSED") })).toMatchObject({ err: { failure: "ECONNREFUSED" } });
    expect(logged({ err: failed("ERR_TLS_CERT_ALTNAME_INVALID") })).toMatchObject({
      err: { failure: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
    for (const code of ["SplxlOBeZQQYbYS6WxSbIA", "4/0AX4XfWh", "0.ARoAv4j5cvGGr0GRqy180BHbR", "SECRET12", { a: 1 }]) {
      expect(logged({ err: failed(code) })).toMatchObject({ err: { code: "[redacted]" } });
    }
  });
});
