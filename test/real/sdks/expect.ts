/** A program's request that waits for "100 Continue" before it sends its body, over HTTP/2 with TLS. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test } from "vitest";

import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../../support/certificates.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { freePort } from "../../support/ports.ts";
import type { Command } from "./client.ts";

const TIMES = 8;

/**
 * @param program sends one request to an address, which shows a certificate that is in the file
 * @param knowsDenial false: the program waits for ever where another response comes than 100 (JDK-8286171 of Java 17)
 */
export function describeExpect(program: (address: string, certificates: string) => Command, knowsDenial = true): void {
  let folder: CertificateFolder;
  let upstream: EchoUpstream;
  let gateway: TestGateway;
  let certificate: string;

  beforeAll(async () => {
    folder = await openCertificateFolder();
    const files = await folder.write("listener", makeTestCertificate({ name: "localhost", dns: ["localhost"] }));
    certificate = files.certificateFile;
    upstream = await startEchoUpstream();
    const port = await freePort();
    const from = `https://localhost:${port}`;
    gateway = await startGateway({
      port,
      boot: {
        insecure_server: false,
        certificates: [{ certificate_file: files.certificateFile, certificate_key_file: files.keyFile }],
      },
      yaml: `routes: ${JSON.stringify([
        { name: "open", from, prefix: "/open", to: upstream.origin, allow_public_unauthenticated_access: true },
        { name: "closed", from, prefix: "/closed", to: upstream.origin, policy: [] },
      ])}`,
    });
  });
  afterAll(async () => {
    await gateway?.close();
    await upstream?.close();
    await folder?.close();
  });

  const send = async (path: string): Promise<object> => {
    const { command, args } = program(`https://localhost:${gateway.port}${path}`, certificate);
    const { stdout } = await promisify(execFile)(command, [...args]);
    return JSON.parse(stdout) as object;
  };

  test(`each of ${TIMES} requests gets the response 100, and its body arrives`, async () => {
    for (let count = 0; count < TIMES; count += 1) {
      expect(await send("/open/")).toMatchObject({ status: 200, version: expect.stringMatching(/2/) as string });
      expect(upstream.seen.at(-1)?.body).toBe('{"hello":"body"}');
    }
    expect(upstream.seen).toHaveLength(TIMES);
  });

  if (!knowsDenial) return;
  test("a request that is denied gets its response, and is not asked for its body", async () => {
    expect(await send("/closed/")).toMatchObject({ status: 401 });
    expect(upstream.seen.filter(({ target }) => target.startsWith("/closed"))).toEqual([]);
  });
}
