/** What bodies of publishes may have, without a gateway: the endpoint reads no more than its bounds. */
import { expect, test } from "vitest";

import type { AdminRequest, PublishScope } from "../../../runtime/admin-listener/answer.ts";
import { sliceEndpoint } from "../../../runtime/admin-listener/publishing/slices.ts";

const MIB = 1024 * 1024;
const scope = { covers: () => true } as unknown as PublishScope;

test.each([
  { what: "changes of several owners", method: "POST", path: "/config/slices", bound: 64 * MIB },
  { what: "changes by an owner's token", method: "POST", path: "/config/slices", scope, bound: 16 * MIB },
  { what: "one owner's slice", method: "PUT", path: "/config/slices/team", bound: 16 * MIB },
  { what: "a slice to validate", method: "POST", path: "/config/slices/team/validate", bound: 16 * MIB },
])("$what: a longer body is refused, and the answer states the bound", async ({ bound, ...asked }) => {
  const bounds: number[] = [];
  // Nothing is parsed or published: these would throw.
  const endpoint = sliceEndpoint({} as never, {} as never);
  const request: AdminRequest = {
    headers: { "if-none-match": "*" },
    caller: "admin_token",
    scope: undefined,
    token: undefined,
    ...asked,
    async readBody(maxBytes) {
      bounds.push(maxBytes);
      return undefined;
    },
  };
  const { status, body } = await endpoint.answer(request);
  expect([status, bounds]).toEqual([413, [bound]]);
  expect(JSON.parse(body)).toMatchObject({ error: "too-large", message: expect.stringContaining(` ${bound} bytes`) });
});
