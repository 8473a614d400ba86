/** The main property: the upstream gets the request that the policy decided, byte for byte. */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { openRaw, type RawConnection } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;

beforeAll(async () => {
  victim = await startVictim();
  pipeline = await startPipeline(`
    authorize_log_fields: [method, path, host]
    routes:
      - from: https://app.example
        to: ${victim.origin}
        preserve_host_header: true
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://app.example
        prefix: /admin
        to: ${victim.origin}
        preserve_host_header: true
        policy: [{ allow: { and: [{ email: { is: root@example.com } }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});

/** Pieces of paths that readers may misread. */
const piece = fc.constantFrom(
  ..."/ /a /admin /b. /.c // . .. ; ;x %2e %2E%2e %2f %5c \\ %00 %41 %7e %7E %C3%A4 %ff %25 %252e %3B %3b ? # % ~ ä { | ] [ \" ' & = @ : + !".split(
    " ",
  ),
  " ",
  "\t",
);
const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "PROPFIND", "get", "FOO");
const host = fc.constantFrom(
  "app.example",
  "APP.example",
  "app.example:80",
  "app.example.",
  "app.example:8080",
  "app.example@x",
  "x.example",
);

async function status(connection: RawConnection): Promise<number> {
  await connection.contains("\r\n\r\n").catch(() => {});
  connection.socket.destroy();
  return Number(connection.text.split(" ")[1] ?? 0);
}

let passed = 0;

test("method, host and path in the record are those the victim received", async () => {
  await fc.assert(
    fc.asyncProperty(method, host, fc.array(piece, { minLength: 1, maxLength: 8 }), async (method, host, pieces) => {
      const heard = victim.requests.length;
      const recorded = pipeline.records.length;
      const target = pieces.join("");
      const bytes = `${method} ${target.startsWith("/") ? target : `/${target}`} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
      const answered = await status(openRaw(pipeline.port, bytes));

      const request = victim.requests[heard];
      if (answered !== 200) {
        expect(request).toBeUndefined();
        return;
      }
      passed += 1;
      const record = pipeline.records[recorded];
      const [path] = (request?.target ?? "").split("?");
      expect({ method: request?.method, host: request?.header("host"), path }).toEqual({
        method: record?.["method"],
        host: record?.["host"],
        path: record?.["path"],
      });
      // No path that another reader would see below /admin passed the public route.
      const lenient = decodeURIComponent(
        (path ?? "").replaceAll(/%(?![0-9a-fA-F]{2})/g, "%25").replaceAll(/;[^/]*/g, ""),
      )
        .replaceAll("\\", "/")
        .replaceAll(/\/+/g, "/");
      expect(new URL(lenient, "http://x").pathname).not.toMatch(/^\/admin(\/|$)/);
    }),
    { numRuns: 400 },
  );
  // Were everything refused, the property would say nothing.
  expect(passed).toBeGreaterThan(15);
});
