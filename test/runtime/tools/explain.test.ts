/** `gateway explain`: may alice call delete_repo on github, and why. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { explainRequest, type ExplainOptions } from "../../../runtime/tools/explain.ts";
import { makeTestCertificate } from "../../support/certificates.ts";

const YAML = `runtime_flags: { mcp: true }
certificates: [{ certificate_file: a, certificate_key_file: b }]
downstream_mtls: { ca_file: c, enforcement: policy }
routes:
  - name: github
    from: https://github.example.com
    to: http://github.internal
    mcp: { server: {} }
    policy:
      - allow: { and: [{ domain: example.com }, { groups: engineering }] }
      - deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }
  - name: wiki
    from: https://wiki.example.com
    to: http://wiki.internal
    allowed_users: [alice@example.com]
    cors_allow_preflight: true
    policy:
      - allow:
          and: [{ claim/department: platform }, { source_ip: 10.0.0.0/8 }]
          or: [{ client_certificate: { san_email: { ends_with: "@example.com" } } }]
`;

function ask(more: Partial<ExplainOptions>, yaml = YAML, ...rest: [] | [Parameters<typeof explainRequest>[2]]) {
  const options = { route: "github", user: "u1", email: "", groups: "", method: "GET", path: "/", ...more };
  return explainRequest([{ file: "gateway.yaml", text: yaml, boot: true }], options, ...rest);
}

describe("explainRequest()", () => {
  test("reports that alice may not call delete_repo on github, and the deciding rule", () => {
    const { text, answer } = ask({ email: "alice@example.com", groups: "engineering", tool: "delete_repo" });

    expect(answer).toBe("denied");
    expect(text).toContain("alice@example.com calls delete_repo on default/github: denied (mcp-tool-unauthorized)");
    expect(text).toContain('true    mcp_tool {"starts_with":"delete_"}, is "delete_repo" (mcp-tool-unauthorized)');
    expect(text).toContain("allow, all of: true");
  });

  test("says that it does not ask a guardrail, where that could change the answer", () => {
    const guardrail = 'guardrail: { url: "https://guardrail.internal", secret_ref: "env:KEY" }';
    const yaml = YAML.replace("server: {}", `server: { ${guardrail} }`);
    const alice = { email: "alice@example.com", groups: "engineering" };
    const note = "note: the guardrail of the route is not asked here";
    expect(ask({ ...alice, tool: "get_repo" }, yaml).text).toContain(note);
    expect(ask({ ...alice, tool: "delete_repo" }, yaml).text).not.toContain(note);
    expect(
      ask({ ...alice, tool: "get_repo" }, yaml.replace('"env:KEY"', '"env:KEY", shadow: true')).text,
    ).not.toContain(note);
  });

  test("on a federated route, the member's policy decides as well, under the member's own names", () => {
    const yaml = `${YAML}  - name: all
    from: https://all.example.com
    mcp: { server: { members: { gh: github }, resource_prefixes: { "repo:": gh } } }
    policy: [{ allow: { and: [{ domain: example.com }] } }]
`;
    const asked = { route: "all", email: "alice@example.com", groups: "engineering" };
    const denied = ask({ ...asked, tool: "gh__delete_repo" }, yaml);
    expect(denied.answer).toBe("denied");
    expect(denied.text).toContain("calls gh__delete_repo on default/all: allowed");
    expect(denied.text).toContain("calls delete_repo on default/github: denied (mcp-tool-unauthorized)");
    expect(ask({ ...asked, tool: "gh__list" }, yaml).answer).toBe("allowed");
    expect(ask({ ...asked, tool: "gh__list", groups: "" }, yaml).answer).toBe("denied");
    expect(ask({ ...asked, resource: "repo:x" }, yaml).text).toContain("reads repo:x of default/github: allowed");
    expect(ask({ ...asked, resource: "ui://gh/x/y" }, yaml).text).toContain("reads ui://x/y of default/github");
    for (const [more, note] of [
      [{ tool: "delete_repo" }, 'no member has the prefix of "delete_repo"'],
      [{ resource: "x:y" }, "the policy of the member that lists this URI decides as well"],
    ] as const)
      expect(ask({ ...asked, ...more }, yaml).text).toContain(`note: ${note}`);
    const json = JSON.parse(ask({ ...asked, tool: "gh__delete_repo", json: true }, yaml).text) as object;
    expect(json).toMatchObject({ allowed: true, member: { route: "default/github", allowed: false } });
  });

  test("reports the decisions of shadow policies, and answers by the active policy", () => {
    const yaml = YAML.replace(
      "      - deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }",
      "$&\n      - { shadow: true, deny: { or: [{ mcp_tool: list_repos }] } }\n    shadow_policy: []",
    );
    const asked = { email: "alice@example.com", groups: "engineering", tool: "list_repos" };
    const { text, answer } = ask(asked, yaml);
    expect(answer).toBe("allowed");
    expect(text).toContain("on default/github: allowed (domain-ok, groups-ok, mcp-tool-ok)");
    expect(text).toContain("in shadow, shadow_policy (loses): denied\n\nno allow rule: all requests are denied");
    expect(text).toContain("in shadow, policy[2] (loses): denied (mcp-tool-unauthorized)");
    expect(ask({ ...asked, tool: "delete_repo" }, yaml).text).toContain(
      "in shadow, policy[2] (no change): denied (mcp-tool-unauthorized)",
    );
    expect(JSON.parse(ask({ ...asked, json: true }, yaml).text)).toMatchObject({
      allowed: true,
      shadow: [
        { candidate: "shadow_policy", outcome: "deny", flip: "loses", reasons: [], rules: [] },
        { candidate: "policy[2]", outcome: "deny", flip: "loses", reasons: ["mcp-tool-unauthorized"] },
      ],
    });
  });

  test("prints the same as JSON", () => {
    const { text } = ask({ email: "alice@example.com", groups: "engineering", tool: "list_repos", json: true });

    expect(JSON.parse(text)).toMatchObject({
      route: "default/github",
      question: "alice@example.com calls list_repos on default/github",
      allowed: true,
      notes: [],
      decision: { allowWhyTrue: ["domain-ok", "groups-ok", "mcp-tool-ok"] },
      rules: [
        {
          action: "deny",
          operator: "or",
          outcome: "false",
          criteria: [{ criterion: "mcp_tool", actual: '"list_repos"' }],
        },
        { action: "allow", operator: "and", outcome: "true" },
      ],
    });
  });

  test("accepts arguments, prompts and resources, and reports when arguments are needed", () => {
    const yaml = YAML.replace(
      "- deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }",
      `- deny:
          or: [{ mcp_tool_argument: { tool: pay, argument: /amount, gt: 500 } }, { mcp_prompt: secret }]
          not: [{ mcp_resource: { starts_with: "file:///srv/" } }, { mcp_method: { not: resources/read } }]`,
    );
    const engineer = { email: "alice@example.com", groups: "engineering" };
    const pays = (given?: string) =>
      ask({ ...engineer, tool: "pay", ...(given !== undefined && { arguments: given }) }, yaml);
    expect(pays('{"amount":500}')).toMatchObject({ answer: "allowed" });
    expect(pays('{"amount":500.01}').text).toContain(
      'calls pay with {"amount":500.01} on default/github: denied (mcp-tool-argument-unauthorized)',
    );
    expect(pays('{"amount":"5"}').answer).toBe("denied");
    expect(pays().text).toContain("no arguments were given (--arguments), so rules on arguments are unknown");
    expect(pays('{"amount":1,"amount":1}')).toEqual({
      answer: "problem",
      text: 'Cannot explain route "github": the gateway refuses the message with 400, whatever its policy: The message has a key twice in one object (mcp-duplicate-key)',
    });
    expect(pays("[]")).toEqual({
      answer: "problem",
      text: 'Cannot explain route "github": the arguments must be a JSON object',
    });
    expect(ask({ ...engineer, arguments: "{}" }, yaml).text).toContain("are those of a tool, which is missing");
    expect(ask({ ...engineer, prompt: "secret" }, yaml).text).toContain("gets the prompt secret of");
    expect(ask({ ...engineer, prompt: "plain" }, yaml).answer).toBe("allowed");
    expect(ask({ ...engineer, resource: "file:///srv/a" }, yaml).answer).toBe("allowed");
    expect(ask({ ...engineer, resource: "file:///etc/a" }, yaml).answer).toBe("denied");
    expect(ask({ ...engineer, resource: "file:///srv/../etc/a" }, yaml).text).toContain("(mcp-resource-unknown)");
    expect(ask({ ...engineer, tool: "pay", prompt: "plain" }, yaml).text).toContain("one tool, prompt or resource");
  });

  test("accepts claims and addresses", () => {
    const claim = ["department=sales", "department=platform"];
    expect(ask({ route: "wiki", claim, ip: "10.1.2.3" }).answer).toBe("allowed");
    expect(ask({ route: "wiki", claim, ip: "192.0.2.1" }).answer).toBe("denied");
    expect(ask({ route: "wiki", claim: ["department=sales"], ip: "10.1.2.3" }).text).toContain('is ["sales"]');
  });

  test("accepts a certificate, valid or not", () => {
    const certificate = {
      isValid: true,
      fingerprint: "ab".repeat(32),
      spkiHash: "",
      sanEmail: ["bob@example.com"],
      sanDns: [],
      sanUri: [],
    };
    expect(ask({ route: "wiki" }, YAML, certificate).answer).toBe("allowed");
    expect(ask({ route: "wiki" }, YAML, { ...certificate, isValid: false }).answer).toBe("denied");
  });

  test("accepts a verified device of the session", () => {
    const yaml = YAML.replace("{ claim/department: platform }", "{ device: { approved: true, type: enclave_only } }");
    const wiki = { route: "wiki", ip: "10.1.2.3" };
    expect(ask({ ...wiki, device: "dev_1", deviceApproved: true, deviceType: "enclave_only" }, yaml).answer).toBe(
      "allowed",
    );
    expect(ask({ ...wiki, deviceApproved: true }, yaml)).toMatchObject({
      answer: "denied",
      text: expect.stringContaining('is [{"is":"","approved":true,"type":"any"}] (device-unauthorized)'),
    });
    expect(ask(wiki, yaml).text).toContain(
      "a browser is redirected to verify a registered device; API clients get 450",
    );
  });

  test("knows the access keys", () => {
    expect(ask({ route: "wiki", email: "alice@example.com" }).answer).toBe("allowed");
    expect(ask({ route: "wiki", anonymous: true }).answer).toBe("denied");
    expect(ask({ route: "wiki", anonymous: true }).text).toMatch(/^anonymous sends GET \/ to default\/wiki: denied/);
    expect(ask({ route: "wiki", anonymous: true, preflight: true }).text).toContain("allowed (cors-request)");
  });

  test("reports checks outside the policy", () => {
    expect(ask({ anonymous: true, tool: "x" }).text).toContain("responds with 401 to all requests without a token");
    const strict = YAML.replace("{ mcp: true }", "{ mcp: false }").replace(", enforcement: policy", "");
    expect(ask({ email: "a@example.com" }, strict).text).toMatch(/answers 503[\s\S]*rejects clients without a valid/);
  });

  test.each<readonly [Partial<ExplainOptions>, string]>([
    [{ route: "gitlab" }, 'no route has this name, only "default/github", "default/wiki"'],
    [{ route: "wiki", tool: "x" }, "it is not an MCP server route"],
    [{ ip: "somewhere" }, '"somewhere" is not an IP address'],
    [{ claim: ["department"] }, "must be written name=value"],
    [{ route: "wiki", deviceType: "enclave" }, '"enclave" is not a device type, must be one of any, enclave_only'],
    [{ route: "wiki", device: "dev_1", anonymous: true }, "the request is anonymous, so it has no device"],
    [{ device: "dev_1" }, "whose clients cannot verify a device"],
  ])("cannot tell for %j", (options, message) => {
    const { text, answer } = ask(options);

    expect(answer).toBe("problem");
    expect(text).toContain(message);
  });
});

describe("gateway explain", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "gateway-explain-"));
    await writeFile(join(directory, "gateway.yaml"), YAML);
    const { cert } = makeTestCertificate({ name: "bob", emails: ["bob@example.com"] });
    await writeFile(join(directory, "bob.pem"), cert);
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const run = (...args: readonly string[]): Promise<{ readonly code: unknown; readonly out: string }> =>
    new Promise((resolve) => {
      const config = ["--config", join(directory, "gateway.yaml")];
      execFile(process.execPath, ["runtime/main.ts", "explain", ...config, ...args], (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, out: stdout + stderr }),
      );
    });

  test("exits 0 for allowed, 3 for denied, 1 when it cannot tell", async () => {
    const alice = ["--email", "alice@example.com", "--groups", "engineering"];
    const [allowed, denied, unknown, certified, missing] = await Promise.all([
      run("--route", "github", ...alice, "--tool", "list_repos"),
      run("--route", "github", ...alice, "--tool", "delete_repo", "--json"),
      run("--route", "nothing"),
      run("--route", "wiki", "--anonymous", "--certificate", join(directory, "bob.pem")),
      run("--route", "wiki", "--certificate", join(directory, "none.pem")),
    ]);

    expect([allowed.code, denied.code, unknown.code, certified.code, missing.code]).toEqual([0, 3, 1, 0, 1]);
    expect(JSON.parse(denied.out)).toMatchObject({ allowed: false });
    expect(missing.out).toContain("Cannot read the certificate");
  });
});
