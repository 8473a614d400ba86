/** Upstreams that try to speak in the gateway's name: what their answers carry is cut before it reaches a browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
let cookie = "";

beforeAll(async () => {
  victim = await startVictim((_request, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: ${cookie}\r\nset-cookie: mine=1\r\n\r\nok`);
  });
  pipeline = await startPipeline(`
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ accept: true }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});

describe("an upstream's Set-Cookie", () => {
  test.each([
    ["by its name", "gateway_session=evil"],
    ["with the prefix of https hosts", "__Host-gateway_session=evil; Secure; Path=/"],
    ["with blanks around the name", " \tgateway_session\t =evil"],
    ["of a sign-in under way", "gateway_session_sign_in_12345678=evil"],
    ["without a value", "gateway_session"],
    // Browsers keep a cookie without a name and send its value alone: as "gateway_session=evil".
    ["hidden in a cookie without a name", "=gateway_session=evil"],
    ["hidden behind blanks", " = gateway_session=evil"],
    ["hidden behind two equals signs", "==gateway_session=evil"],
    ["with the prefix, hidden", "=__Host-gateway_session=evil"],
  ])("cannot plant our session cookie %s", async (_how, value) => {
    cookie = value;
    const answer = await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
    expect(answer.headers.get("set-cookie")).toEqual(["mine=1"]);
  });

  test("without a name passes where it says nothing of ours", async () => {
    cookie = "=theirs";
    const answer = await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
    expect(answer.headers.get("set-cookie")).toEqual(["=theirs", "mine=1"]);
  });
});
