/**
 * A gateway in front of a victim, with routes that require devices and pages on a separate host, for tests that answer the
 * pages with a software authenticator.
 */
import { get } from "node:http";

import { createTestClock, type TestClock } from "./clock.ts";
import { sendVia, type DeviceVisitor } from "./device-visitor.ts";
import { startSignInGateway, type SignInGateway } from "./sign-in-gateway.ts";
import { answerOk, startVictim, type Victim } from "./victim.ts";

export interface DeviceWorld {
  readonly gateway: SignInGateway["gateway"];
  readonly victim: Victim;
  readonly clock: TestClock;
  /** Origin of sign-in pages. */
  readonly pages: string;
  /** Where ceremonies take place. */
  readonly party: { readonly origin: string; readonly rpId: string };
  /** An address that requires a device of any kind. */
  readonly guarded: string;
  /** Status of an address for a program in this visitor's browser, which follows no redirect. */
  statusOf(visitor: DeviceVisitor, url?: string): Promise<number>;
  /** Also signs in on the host of the routes, so that only the device is missing. @throws Error when more is missing */
  signIn(visitor: DeviceVisitor): Promise<void>;
  /**
   * Status of a form that is sent to the sign-in pages with this visitor's cookies, as any site's page could send it.
   *
   * @param headers in addition to the cookies and the type, such as `origin`
   */
  postForm(
    visitor: DeviceVisitor,
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
  ): Promise<number>;
  /** An answer that stays open; resolves when its first event has come. */
  openStream(visitor: DeviceVisitor, path: string): Promise<{ readonly ended: Promise<void>; close(): void }>;
  close(): Promise<void>;
}

export async function startDeviceWorld(): Promise<DeviceWorld> {
  const clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  const victim = await startVictim((request, socket) => {
    if (request.target.endsWith("/stream"))
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: begun\n\n");
    else answerOk(request, socket);
  });
  const world = await startSignInGateway({
    pagesHost: "auth.localhost",
    clock,
    yaml: `
routes:
  - name: any
    from: "{origin}"
    prefix: /any
    to: ${victim.origin}
    policy: [{ allow: { and: [{ domain: example.com }, { device: { type: any } }] } }]
  - name: enclave
    from: "{origin}"
    prefix: /enclave
    to: ${victim.origin}
    show_error_details: true
    policy: [{ allow: { and: [{ domain: example.com }, { device: { type: enclave_only } }] } }]
  - name: none-of
    from: "{origin}"
    prefix: /none-of
    to: ${victim.origin}
    policy: [{ allow: { not: [{ device: { is: dev_stolen } }] } }]
  - name: denied
    from: "{origin}"
    prefix: /denied
    to: ${victim.origin}
    policy: [{ allow: { and: [{ domain: example.com }] }, deny: { nor: [{ device: { approved: true } }] } }]
  - name: open
    from: "{origin}"
    prefix: /open
    to: ${victim.origin}
    policy: [{ allow: { and: [{ domain: example.com }] } }]
  - name: nobody
    from: "{origin}"
    prefix: /nobody
    to: ${victim.origin}
    policy: [{ allow: { and: [{ device: { type: any } }] }, deny: { or: [{ domain: example.com }] } }]
`,
  });
  const { gateway } = world;
  const pages = gateway.origin.replace("localhost", "auth.localhost");
  const guarded = `${gateway.origin}/any/page`;
  const statusOf = async (visitor: DeviceVisitor, url = guarded): Promise<number> => {
    const headers = { accept: "application/json", cookie: visitor.browser.cookieHeader("localhost") };
    return (await sendVia(String(gateway.port))({ method: "GET", url, headers })).status;
  };
  return {
    gateway,
    victim,
    clock,
    pages,
    party: { origin: pages, rpId: "auth.localhost" },
    guarded,
    statusOf,
    async signIn(visitor) {
      await visitor.open(guarded);
      const status = await statusOf(visitor);
      if (status !== 450) throw new Error(`The guarded address answers ${status}, must ask for a device with 450`);
    },
    async postForm(visitor, path, fields, headers) {
      const { status } = await sendVia(String(gateway.port))({
        method: "POST",
        url: pages + path,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          cookie: visitor.browser.cookieHeader("auth.localhost"),
          ...headers,
        },
        body: new URLSearchParams(fields).toString(),
      });
      return status;
    },
    openStream: (visitor, path) =>
      new Promise((resolve, reject) => {
        const headers = { host: new URL(guarded).host, cookie: visitor.browser.cookieHeader("localhost") };
        const sent = get({ host: "127.0.0.1", port: gateway.port, path, headers }, (answer) => {
          answer.on("error", () => {});
          const ended = new Promise<void>((done) => answer.once("close", done));
          answer.once("data", () => resolve({ ended, close: () => sent.destroy() }));
        });
        sent.on("error", reject);
      }),
    async close() {
      await world.close();
      await victim.close();
    },
  };
}
