import { describe, expect, test } from "vitest";

import { createRedactor } from "../../../../runtime/audit/redaction/redactor.ts";
import { checkedFrom, snapshotFrom } from "../../../support/config.ts";
import { startPipeline } from "../../../support/pipeline.ts";
import { sendRaw } from "../../../support/raw-client.ts";
import { startVictim } from "../../../support/victim.ts";

const yaml = (declared: string, to = "http://127.0.0.1:9"): string => `
runtime_flags: { mcp: true }
authorize_log_fields: [mcp-tool, mcp-tool-parameters]
routes:
  - from: https://mcp.example
    to: ${to}
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
    mcp: { server: { record_arguments: ${declared} } }`;

describe("record_arguments", () => {
  test.each([
    ["{ digest: { deploy: [a] } }", 'is "a", must be a JSON pointer'],
    ["{ digest: { deploy: [/a~2] } }", "must be a JSON pointer"],
    ["{ plain: { deploy: [/a, /b] }, omit: { deploy: [/b] } }", 'has "/b", which "plain" has, too'],
    [`{ omit: { "${"a".repeat(257)}": [/a] } }`, "must be the name of a tool"],
    [`{ omit: { "*": [/${"a".repeat(256)}] } }`, "must be a JSON pointer"],
    [
      `{ omit: { "*": [${Array.from({ length: 101 }, (_, index) => `/a${index}`).join()}] } }`,
      "more than 100 pointers",
    ],
    ["{ hash: { deploy: [/a] } }", "hash"],
  ])("%s is refused", (declared, problem) => {
    expect(() => checkedFrom(yaml(declared))).toThrow(problem);
  });

  test("a route has the declared treatment", () => {
    const { routes } = snapshotFrom(yaml('{ plain: { "*": [""] }, omit: { deploy: [/token] } }'));
    expect(routes[0]?.mcp).toMatchObject({ recordArguments: { plain: { "*": [""] }, omit: { deploy: ["/token"] } } });
  });

  test("the log applies it; a response does not change it", async () => {
    const victim = await startVictim((_, socket) => void socket.write("HTTP/1.1 204 No Content\r\n\r\n"));
    const declared = "{ digest: { deploy: [/env] }, omit: { '*': [/token] } }";
    const redactor = createRedactor({ key: Buffer.alloc(32, 1) });
    const pipeline = await startPipeline(yaml(declared, victim.origin), { redactor });
    try {
      const given = '{"env":"prod","Token":"hunter2","n":9007199254740993}';
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":${given}}}`;
      const head = ["POST / HTTP/1.1", "Host: mcp.example", "Accept: application/json, text/event-stream"];
      const more = [
        "Connection: close",
        "Authorization: Bearer gwt_alice",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
      ];
      await sendRaw(pipeline.port, `${[...head, ...more].join("\r\n")}\r\n\r\n${body}`);
      expect(victim.received).toContain(given);
      const line = pipeline.records.at(-1);
      expect(JSON.stringify(line)).not.toContain("hunter2");
      expect(line).toMatchObject({
        "mcp-tool-parameters": { env: expect.stringMatching(/^t[\w-]{16}$/) as string },
        "mcp-tool-parameters-redacted": { digest: ["/env"], omit: ["/token"] },
      });
    } finally {
      await pipeline.close();
      await victim.close();
    }
  });
});
