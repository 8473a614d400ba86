/**
 * Tokens in the form of platforms, and rules from their guides: each rule accepts its job, pod or host, and no other. Names,
 * IDs and audiences are invented; members are those that the platforms document.
 */
import { beforeAll, describe, expect, test } from "vitest";

import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { fakeIssuer, presenter } from "../support/id-jag.ts";
import { ORIGIN, RESOURCE, useIssuers } from "../support/issuer.ts";
import { jobClaims, presentJob, signJob } from "../support/workload.ts";

const start = useIssuers();

type Members = Readonly<Record<string, unknown>>;
interface Platform {
  readonly iss: string;
  readonly alg: "RS256" | "ES256" | "ES384";
  /** Undefined: the platform writes none. */
  readonly typ?: "JWT";
  readonly claims: Members;
  /** YAML of the claims of a rule. */
  readonly rule: string;
  /** Others of the same platform, which the rule does not mean. */
  readonly others: Readonly<Record<string, Members>>;
  readonly entry?: string;
}

const GITHUB: Platform = {
  iss: "https://token.actions.githubusercontent.com",
  alg: "RS256",
  typ: "JWT",
  claims: {
    sub: "repo:acme/app:ref:refs/heads/main",
    repository: "acme/app",
    repository_id: "42",
    repository_owner: "acme",
    repository_owner_id: "7",
    repository_visibility: "private",
    ref: "refs/heads/main",
    ref_type: "branch",
    ref_protected: "true",
    event_name: "push",
    environment: "production",
    job_workflow_ref: "acme/app/.github/workflows/deploy.yml@refs/heads/main",
    run_attempt: "1",
  },
  rule: '{ repository_id: ["42"], repository_owner_id: ["7"], ref: [refs/heads/main], environment: [production, staging] }',
  others: {
    "the same name in other hands": { repository_id: "43", repository_owner_id: "8" },
    "another branch": { ref: "refs/heads/mine", sub: "repo:acme/app:ref:refs/heads/mine" },
    "a pull request": { ref: "refs/pull/1/merge", sub: "repo:acme/app:pull_request", event_name: "pull_request" },
    "no environment": { environment: undefined },
    "another environment": { environment: "productio" },
  },
};

const PLATFORMS: Readonly<Record<string, Platform>> = {
  "GitHub Actions by ids": GITHUB,
  "GitHub Actions by the older sub": {
    ...GITHUB,
    rule: '{ sub: ["repo:acme/*:ref:refs/heads/main", "repo:acme/app:environment:*"] }',
    others: {
      "another owner": { sub: "repo:acme-evil/app:ref:refs/heads/main" },
      "a branch that begins so": { sub: "repo:acme/app:ref:refs/heads/main/x" },
      "a branch that hides more": { sub: "repo:acme/app:ref:refs/heads/x:ref:refs/heads/main" },
      "a repository without a name": { sub: "repo:acme/:ref:refs/heads/main" },
    },
  },
  "GitHub Actions by the newer sub with ids": {
    ...GITHUB,
    claims: { ...GITHUB.claims, sub: "repo:acme@7/app@42:ref:refs/heads/main" },
    rule: '{ sub: ["repo:acme@7/app@42:ref:refs/heads/main"] }',
    others: {
      "a newer owner of the names": { sub: "repo:acme@8/app@43:ref:refs/heads/main" },
      "the older form": { sub: "repo:acme/app:ref:refs/heads/main" },
    },
  },
  "GitHub Actions by a reusable workflow": {
    ...GITHUB,
    rule: '{ repository_owner_id: ["7"], job_workflow_ref: ["acme/*/.github/workflows/deploy.yml@refs/heads/main"] }',
    others: {
      "another file": { job_workflow_ref: "acme/app/.github/workflows/other.yml@refs/heads/main" },
      "another version": { job_workflow_ref: "acme/app/.github/workflows/deploy.yml@refs/heads/x" },
    },
  },
  "GitLab CI": {
    iss: "https://gitlab.com",
    alg: "RS256",
    typ: "JWT",
    claims: {
      sub: "project_path:acme/app:ref_type:branch:ref:main",
      project_id: "22",
      project_path: "acme/app",
      namespace_id: "72",
      namespace_path: "acme",
      ref: "main",
      ref_type: "branch",
      ref_path: "refs/heads/main",
      // A text, whatever it says.
      ref_protected: "true",
      pipeline_source: "push",
      user_login: "dana",
    },
    rule: '{ project_id: ["22"], ref: [main], ref_type: [branch], ref_protected: ["true"] }',
    others: {
      "a fork": { project_id: "23", project_path: "evil/app" },
      "a tag of that name": { ref_type: "tag" },
      "a branch that is not protected": { ref_protected: "false" },
      "a flag in place of the text": { ref_protected: true },
      "a number in place of the text": { project_id: 22 },
    },
  },
  "Kubernetes service account": {
    iss: "https://kubernetes.default.svc.cluster.local",
    alg: "RS256",
    claims: {
      sub: "system:serviceaccount:prod:agent",
      aud: [ORIGIN],
      nbf: 1_799_999_999,
      "kubernetes.io": {
        namespace: "prod",
        node: { name: "node-1", uid: "e1" },
        pod: { name: "agent-0", uid: "b2" },
        serviceaccount: { name: "agent", uid: "c3" },
        warnafter: 1_800_003_607,
      },
    },
    entry: "replay: allowed",
    rule: "{ sub: [system:serviceaccount:prod:agent], /kubernetes.io/serviceaccount/uid: [c3], /kubernetes.io/namespace: [prod] }",
    others: {
      "another namespace": { sub: "system:serviceaccount:dev:agent", "kubernetes.io": { namespace: "dev" } },
      "one that was made anew": {
        "kubernetes.io": { namespace: "prod", serviceaccount: { name: "agent", uid: "c4" } },
      },
      "names in the place of the nested ones": { "kubernetes.io": undefined, "/kubernetes.io/namespace": "prod" },
      "another audience beside": { aud: [ORIGIN, "https://kubernetes.default.svc"] },
    },
  },
  "Google service account": {
    iss: "https://accounts.google.com",
    alg: "RS256",
    typ: "JWT",
    claims: {
      sub: "113774264463038321964",
      azp: "113774264463038321964",
      email: "ci@acme.iam.gserviceaccount.com",
      email_verified: true,
      google: { compute_engine: { project_id: "acme", project_number: 739419398126, zone: "us-west1-a" } },
    },
    rule: '{ email: [ci@acme.iam.gserviceaccount.com], email_verified: ["json:true"], /google/compute_engine/project_number: ["json:739419398126"] }',
    others: {
      "somebody else at Google": { email: "ci@evil.iam.gserviceaccount.com" },
      "an unverified address": { email_verified: false },
      "a text in place of the flag": { email_verified: "true" },
      "another project": { google: { compute_engine: { project_number: 1 } } },
      "a text in place of the number": { google: { compute_engine: { project_number: "739419398126" } } },
    },
  },
  "AWS STS, ES384": {
    iss: "https://abc12345-def4-5678-90ab-cdef12345678.tokens.sts.global.api.aws",
    alg: "ES384",
    typ: "JWT",
    claims: {
      sub: "arn:aws:iam::123456789012:role/DataProcessingRole",
      "https://sts.amazonaws.com/": {
        aws_account: "123456789012",
        source_region: "us-east-1",
        principal_id: "arn:aws:iam::123456789012:role/DataProcessingRole",
        request_tags: { team: "data" },
      },
    },
    rule: '{ sub: ["arn:aws:iam::123456789012:role/DataProcessingRole"], "/https:~1~1sts.amazonaws.com~1/aws_account": ["123456789012"], "/https:~1~1sts.amazonaws.com~1/request_tags/team": [data] }',
    others: {
      "another role": { sub: "arn:aws:iam::123456789012:role/Other" },
      "another account": {
        "https://sts.amazonaws.com/": { aws_account: "210987654321", request_tags: { team: "data" } },
      },
      "no tag": { "https://sts.amazonaws.com/": { aws_account: "123456789012" } },
    },
  },
  "Entra application": {
    iss: "https://login.microsoftonline.com/3f1d7a2e-0000-4000-8000-000000000001/v2.0",
    alg: "RS256",
    typ: "JWT",
    claims: {
      sub: "aa0e8d2c-0000-4000-8000-00000000000a",
      oid: "aa0e8d2c-0000-4000-8000-00000000000a",
      tid: "3f1d7a2e-0000-4000-8000-000000000001",
      azp: "6e74172b-0000-4000-8000-00000000000b",
      aud: "api://gateway",
      nbf: 1_799_999_999,
      roles: ["Mcp.Call", "Mcp.Read"],
      uti: "0Z5Y",
      ver: "2.0",
      // Entra has no jti.
      jti: undefined,
    },
    entry: 'audiences: ["api://gateway"]',
    rule: "{ tid: [3f1d7a2e-0000-4000-8000-000000000001], oid: [aa0e8d2c-0000-4000-8000-00000000000a], roles: [Mcp.Call] }",
    others: {
      "another application of the tenant": { oid: "bb0e8d2c-0000-4000-8000-00000000000a" },
      "without the role": { roles: ["Mcp.Read"] },
      "no roles": { roles: undefined },
      "an empty list": { roles: [] },
    },
  },
  SPIFFE: {
    iss: "https://spire.example.com",
    alg: "ES256",
    typ: "JWT",
    claims: { sub: "spiffe://example.com/ns/prod/sa/agent", aud: [ORIGIN], jti: undefined },
    rule: '{ sub: ["spiffe://example.com/ns/prod/sa/*"] }',
    others: {
      "another trust domain": { sub: "spiffe://evil.example/ns/prod/sa/agent" },
      "another namespace": { sub: "spiffe://example.com/ns/dev/sa/agent" },
      "a path below": { sub: "spiffe://example.com/ns/prod/sa/agent/x" },
    },
  },
};

const keys = new Map<string, SigningKey>();
beforeAll(async () => {
  for (const alg of ["RS256", "ES256", "ES384"]) keys.set(alg, await makeSigningKey(alg, alg));
});

describe.each(Object.entries(PLATFORMS))("%s", (_, { iss, alg, typ, claims, rule, others, entry }) => {
  const world = async () => {
    const gateway = await start({
      yaml: `
runtime_flags: { mcp: true }
identity_issuers:
  platform:
    issuer: "${iss}"
    uses: [workload]
    ${entry ?? ""}
    workload_rules: { it: { claims: ${rule}, resources: ["${RESOURCE}"] } }
routes:
  - { name: tools, from: https://mcp.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } }, policy: [{ allow: { and: [authenticated_user: true] } }] }
`,
      issuerFetch: fakeIssuer({
        [`${iss}/.well-known/openid-configuration`]: { issuer: iss, jwks_uri: `${iss}/keys` },
        [`${iss}/keys`]: { keys: [keys.get(alg)?.jwk] },
      }).fetch,
    });
    const present = async (more: Members) => {
      const key = keys.get(alg);
      if (!key) throw new Error("no key");
      const all = jobClaims(gateway.clock.now(), { iss, repository_id: undefined, ref: undefined, ...claims, ...more });
      return presentJob(gateway, await signJob(all, key, { typ }));
    };
    return { gateway, present };
  };

  test("is let in by its rule, as the workload that it is", async () => {
    const { gateway, present } = await world();
    const answer = await present({});
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("gwt_")]);
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    expect(opened).toMatchObject({
      ok: true,
      claims: { kind: "workload", userId: `workload:platform/${String(claims["sub"])}` },
    });
  });

  test.each(Object.entries(others))("is not taken for it: %s", async (__, more) => {
    const { gateway, present } = await world();
    expect((await present(more)).json()).toEqual({ error: "invalid_grant", error_description: "Invalid assertion" });
    expect(await gateway.store.list("grants")).toEqual([]);
  });
});

/**
 * The checks of `auth/wif-jwt-bearer` (MCP conformance), which the suite makes at its own server, made here at ours:
 * both must reject the same requests with the same error.
 */
describe("conformance auth/wif-jwt-bearer", () => {
  const WIF = {
    iss: "https://idp.conformance-test.local",
    sub: "conformance-workload",
    repository_id: undefined,
    ref: undefined,
  };
  const world = async () => {
    const key = await makeSigningKey("ES256", "run");
    const gateway = await start({
      yaml: `
runtime_flags: { mcp: true }
identity_issuers:
  wif:
    issuer: https://idp.conformance-test.local
    uses: [workload]
    ignore_client_id: true
    jwks: '${JSON.stringify({ keys: [key.jwk] })}'
    workload_rules: { it: { claims: { sub: [conformance-workload] }, resources: ["${RESOURCE}"] } }
routes: [{ name: tools, from: https://mcp.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }]
`,
      issuerFetch: fakeIssuer().fetch,
    });
    const CLIENT = { client_id: "conformance-wif-workload" };
    const sign = (more: Members = {}) =>
      signJob(jobClaims(gateway.clock.now(), { ...WIF, ...more }), key, { typ: undefined });
    const present = (assertion: string | undefined, form = {}) =>
      presentJob(gateway, assertion, { ...CLIENT, ...form });
    return { gateway, key, sign, present };
  };

  test.each(["", "/"])("wif-assertion-verified: our origin as audience, %j after it", async (slash) => {
    const { sign, present } = await world();
    expect((await present(await sign({ aud: ORIGIN + slash }))).json()).toMatchObject({ token_type: "Bearer" });
  });

  test("wif-grant-type: another grant does not take the assertion", async () => {
    const { gateway, sign, present } = await world();
    const answer = await present(await sign(), { grant_type: "client_credentials" });
    expect(answer.json()["error"]).toBe("invalid_client");
    const desk = await presenter(gateway);
    const known = await desk.present(await sign(), { grant_type: "client_credentials" });
    expect(known.json()["error"]).toBe("unauthorized_client");
  });

  test("wif-assertion-missing", async () => {
    const { present } = await world();
    expect((await present(undefined)).json()["error"]).toBe("invalid_client");
    expect((await present(undefined, { client_id: undefined })).json()["error"]).toBe("invalid_request");
  });

  test("wif-assertion-expired", async () => {
    const { sign, present } = await world();
    expect((await present(await sign({ iat: 1_799_999_640, exp: 1_799_999_940 }))).json()["error"]).toBe(
      "invalid_grant",
    );
  });

  test("wif-assertion-audience", async () => {
    const { sign, present } = await world();
    expect((await present(await sign({ aud: "https://wrong.example" }))).json()["error"]).toBe("invalid_grant");
  });

  test("wif-assertion-malformed", async () => {
    const { sign, present } = await world();
    const [head = "", claims = ""] = (await sign()).split(".");
    for (const text of ["x", `${head}.${claims}`, `${head}.${claims}.AAAA`]) {
      const answer = await present(text, { client_id: undefined });
      expect(answer.json()["error"]).toBe("invalid_grant");
    }
  });

  test("wif-no-retry, wif-grant-fallback: an invalid scope is reported as such, so that no client tries another grant", async () => {
    const { sign, present } = await world();
    expect((await present(await sign(), { scope: "wif.rejected" })).json()["error"]).toBe("invalid_scope");
  });
});
