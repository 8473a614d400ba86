/**
 * A provider registry on loopback with one version for one platform, as Terraform asks for it.
 *
 * @see https://developer.hashicorp.com/terraform/internals/provider-registry-protocol
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface RegistryRelease {
  readonly version: string;
  /** Terraform's name: "linux_amd64". */
  readonly platform: string;
  /** Name of the archive in SHA256SUMS. */
  readonly filename: string;
  readonly archive: Buffer;
  readonly sums: Buffer;
  readonly signature: Buffer;
  /** Hash that the registry reports, whatever the archive is. */
  readonly shasum: string;
  /** Keys that the publisher has given to the registry. */
  readonly armoredKeys: readonly { readonly id: string; readonly text: string }[];
}

export interface ProviderRegistry {
  /** Text of a CLI configuration whose only source is this registry, under the public one's name. */
  readonly cliConfig: string;
  /** Sets the served release. */
  serve(release: RegistryRelease): void;
  close(): Promise<void>;
}

const BASE = "/v1/providers/";

export async function startProviderRegistry(source: string): Promise<ProviderRegistry> {
  let release: RegistryRelease | undefined;
  const server = createServer((request, response) => {
    const found = release && answer(release, request.url ?? "");
    const type = Buffer.isBuffer(found) ? "application/octet-stream" : "application/json";
    response.writeHead(found === undefined ? 404 : 200, { "content-type": type });
    response.end(Buffer.isBuffer(found) ? found : JSON.stringify(found ?? {}));
  });
  const answer = (served: RegistryRelease, url: string): Buffer | object | undefined => {
    const [os = "", arch = ""] = served.platform.split("_");
    const files: Record<string, Buffer | object> = {
      [`${BASE}${source}/versions`]: {
        versions: [{ version: served.version, protocols: ["6.0"], platforms: [{ os, arch }] }],
      },
      [`${BASE}${source}/${served.version}/download/${os}/${arch}`]: {
        protocols: ["6.0"],
        os,
        arch,
        filename: served.filename,
        download_url: "/archive",
        shasums_url: "/sums",
        shasums_signature_url: "/sums.sig",
        shasum: served.shasum,
        signing_keys: {
          gpg_public_keys: served.armoredKeys.map(({ id, text }) => ({ key_id: id, ascii_armor: text })),
        },
      },
      "/archive": served.archive,
      "/sums": served.sums,
      "/sums.sig": served.signature,
    };
    return Object.hasOwn(files, url) ? files[url] : undefined;
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    cliConfig: `host "registry.terraform.io" {\n  services = { "providers.v1" = "${origin}${BASE}" }\n}\n`,
    serve: (next) => (release = next),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
