/** The first line of `gateway run`: scripts wait for it, and people look there for the address. */
import { expect, test } from "vitest";

import { servingText } from "../../runtime/run.ts";

const served = (address: string, origin: string) => ({
  origin,
  address,
  adminOrigin: "http://127.0.0.1:9901",
});

test.each([
  ["127.0.0.1:8443", 1, "gateway serves on https://x:8443, admin on http://127.0.0.1:9901"],
  [":8443", 1, "gateway serves on https://x:8443 and all other addresses of this host, admin on http://127.0.0.1:9901"],
  ["0.0.0.0:8443", 2, "gateway serves on https://x:8443 and all other addresses of this host with 2 workers, admin on"],
  ["[::]:8443", 1, "gateway serves on https://x:8443 and all other addresses of this host, admin on"],
])("says of %s where the gateway listens", (address, workers, text) => {
  expect(servingText(served(address, "https://x:8443"), workers)).toContain(text);
});
