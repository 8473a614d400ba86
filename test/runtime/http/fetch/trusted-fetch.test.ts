import { describe, expect, test } from "vitest";

import { createTrustedFetch } from "../../../../runtime/http/fetch/trusted-fetch.ts";
import { startVictim } from "../../../support/victim.ts";

describe("createTrustedFetch()", () => {
  test.each(["close", "retire"] as const)("asks nobody after %s(), though it has never asked before", async (end) => {
    const victim = await startVictim(({ target }, socket) => {
      if (target === "/") socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    });
    try {
      const ask = { url: new URL(victim.origin), method: "GET", headers: {} } as const;
      const used = createTrustedFetch({ ca: undefined, timeoutMs: 5_000, maxBytes: 100 });
      expect(await used(ask)).toMatchObject({ ok: true, status: 204 });
      await used.close();

      const unused = createTrustedFetch({ ca: undefined, timeoutMs: 5_000, maxBytes: 100 });
      await unused[end]();
      expect(await unused(ask)).toMatchObject({ ok: false });
      expect(victim.requests).toHaveLength(1);
    } finally {
      await victim.close();
    }
  });
});
