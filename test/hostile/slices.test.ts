/** Slices of owners that try to get more than the main configuration file gives them: its secrets, and the admin listener. */
import { describe, expect, test } from "vitest";

import { loadSlices } from "../../runtime/config/load.ts";
import { formatPath } from "../../runtime/settings/problem.ts";

const POLICY = { allow: { or: [{ accept: true }] } };

function problemsOf(route: object, boot: object = {}, more: object = {}): readonly string[] {
  const sources = [
    {
      file: "gateway.json",
      boot: true,
      text: JSON.stringify({
        insecure_server: true,
        shared_secret_ref: "file:/run/secrets/shared",
        owners: { team: { allowed_refs: ["file:/run/secrets/*", "file:/run/*"] } },
        runtime_flags: { mcp: true },
        ...boot,
      }),
    },
    {
      file: "team.json",
      boot: false,
      text: JSON.stringify({ version: 1, owner: "team", routes: { one: { policy: POLICY, ...route }, ...more } }),
    },
  ];
  return loadSlices(sources)
    .problems.filter(({ severity }) => severity === "error")
    .map(({ path }) => formatPath(path));
}

const certificateAt = (path: string) => ({ certificate_file: "/run/cert.pem", certificate_key_file: path });
const listenerWith = (path: string) => ({ insecure_server: false, certificates: [certificateAt(path)] });
const vaultWith = (login: object) => ({ vault: { address: "https://vault.example.com", login } });

test("a slice refers to at most a thousand entries of the server of secrets, with whatever fields", async () => {
  const boot = { ...vaultWith({ token_file: "/run/t" }), owners: { team: { allowed_refs: ["vault:kv/*"] } } };
  const route = { from: "http://a.example.com", to: "https://up.internal" };
  const problems = async (count: number, ref: (at: number) => string): Promise<readonly string[]> => {
    // A thousand routes are work of their own for each turn of the event loop.
    await new Promise(setImmediate);
    const more = Array.from({ length: count }, (_, at) => {
      const place = { from: `http://x${at}.example.com`, to: "https://up.internal", policy: POLICY };
      return [`r${at}`, { ...place, tls_custom_ca_ref: ref(at) }];
    });
    return problemsOf(route, boot, Object.fromEntries(more));
  };
  expect(await problems(1_001, (at) => `vault:kv/app-${at % 1_000}#f${at}`)).toEqual([]);
  expect(await problems(1_002, (at) => `vault:kv/app-${at}#k`)).toEqual(["routes.r1000.tls_custom_ca_ref"]);
  expect(await problems(1_001, (at) => `vault:kv/app#k@${at + 1}`)).toEqual(["routes.r1000.tls_custom_ca_ref"]);
});

describe("a secret of the boot file", () => {
  const withSecret = (reference: string) => ({
    from: "http://tools.example.com",
    to: "http://up.internal",
    mcp: {
      server: {
        upstream_oauth2: {
          client_id: "id",
          client_secret_ref: reference,
          endpoint: { auth_url: "https://as.example/authorize", token_url: "https://as.example/token" },
        },
      },
    },
  });

  test.each([
    ["as it is written", "file:/run/secrets/shared"],
    ["with a dot segment", "file:/run/secrets/./shared"],
    ["with a dot segment at the beginning", "file:/./run/secrets/shared"],
    ["with two slashes", "file:/run//secrets/shared"],
    ["with slashes as a URL has them", "file:///run/secrets/shared"],
    ["by the way of a parent", "file:/run/secrets/team/../shared"],
    ["with a slash behind it", "file:/run/secrets/shared/"],
  ])("is out of reach of a slice %s", (_how, reference) => {
    expect(problemsOf(withSecret(reference))).toEqual(["routes.one.mcp.server.upstream_oauth2.client_secret_ref"]);
  });

  test.each<[string, object]>([
    ["the key of a listener", listenerWith("/run/secrets/key.pem")],
    ["one whose path has another spelling there", listenerWith("/run//secrets/x/../key.pem")],
    ["the key of the admin listener", { admin_tls: certificateAt("/run/secrets/key.pem") }],
    ["the token for the server of secrets", vaultWith({ token_file: "/run/./secrets/key.pem" })],
  ])("is out of reach where it is named by its path: %s", (_what, boot) => {
    const setting = "routes.one.mcp.server.upstream_oauth2.client_secret_ref";
    expect(problemsOf(withSecret("file:/run/secrets/key.pem"), boot)).toContain(setting);
    expect(problemsOf(withSecret("file:/run/secrets/other.pem"), boot)).not.toContain(setting);
  });

  test("stays readable next to it, if the owner has permission", () => {
    expect(problemsOf(withSecret("file:/run/secrets/team"))).toEqual([]);
  });
});

describe("names of routes", () => {
  const nameProblems = (name: string): readonly string[] => {
    const route = { from: "http://a.example.com", to: "http://up.internal", policy: POLICY };
    const text = JSON.stringify({ version: 1, owner: "team", routes: { [name]: route } });
    const { problems } = loadSlices([{ file: "team.json", boot: false, text }]);
    return problems.flatMap(({ path, message }) => (path[0] === "routes" ? [message] : []));
  };

  test.each([
    ["\u1100\u1161", "가"],
    ["\u212Bngström", "Ångström"],
    ["\uF900", "豈"],
  ])("do not differ in how their letters are composed alone", (written, composed) => {
    expect(nameProblems(written)).toEqual(["has a name that must have its letters composed (Unicode NFC)"]);
    expect(nameProblems(composed)).toEqual([]);
  });
});

describe("the admin listener", () => {
  test.each([
    "http://127.0.0.1:9901",
    "http://localhost:9901",
    "http://localhost.:9901",
    "http://LOCALHOST:9901",
    "http://127.1:9901",
    "http://0x7f000001:9901",
    "http://2130706433:9901",
    "http://127.0.0.2:9901",
    "http://0.0.0.0:9901",
    "http://[::]:9901",
    "http://[::1]:9901",
    "http://[::ffff:127.0.0.1]:9901",
    "http://[::ffff:0:0]:9901",
    "http://[0:0:0:0:0:ffff:7f00:1]:9901",
  ])("is no upstream of a route, as %s", (to) => {
    expect(problemsOf({ from: "http://app.example.com", to })).toEqual(["routes.one.to"]);
  });

  test("is no upstream by the name that it listens on", () => {
    const boot = { admin_address: "admin.internal:9901" };
    expect(problemsOf({ from: "http://app.example.com", to: "http://Admin.Internal.:9901" }, boot)).toEqual([
      "routes.one.to",
    ]);
  });

  test("does not forbid other ports of the host", () => {
    expect(problemsOf({ from: "http://app.example.com", to: "http://127.0.0.1:8081" })).toEqual([]);
  });
});
