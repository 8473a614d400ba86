import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startUpstreamGateway, STATIC_SECRET, type UpstreamGateway } from "../support/upstream-gateway.ts";

let bench: UpstreamGateway;

beforeAll(async () => {
  bench = await startUpstreamGateway();
});
afterAll(() => bench?.close());

describe("static mode: client_id, client_secret and endpoint", () => {
  test("connect leads through the upstream's authorization server back to redirect_url, and the token is attached", async () => {
    const person = await bench.person();
    expect(await bench.list(person)).toMatchObject({ static: false });
    const page = await bench.connect(person, "static");
    expect(page).toMatchObject({ left: true, url: bench.application });
    expect(await bench.list(person)).toMatchObject({ static: true });

    const client = await bench.signIn("static", { browser: person });
    const answer = await bench.call("static", client.tokens.access_token);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ result: { authorized: true, scope: "read write" } });
    expect(answer.text).not.toContain(client.tokens.access_token);
  });
});
