/** Attacks with certificates by an author of Ingresses and Secrets in one namespace. */
import { describe, expect, test } from "vitest";

import { readHostList } from "../../runtime/kubernetes/translate/hosts/host-list.ts";
import type { Ingress, KubeObjects, Secret } from "../../runtime/kubernetes/translate/objects.ts";
import { formatIngressProblem } from "../../runtime/kubernetes/translate/ingress-problem.ts";
import { renderSlices } from "../../runtime/kubernetes/render.ts";
import { translate, type Translation, type TranslateOptions } from "../../runtime/kubernetes/translate/translate.ts";
import { makeTestCertificate, type TestCertificate } from "../support/certificates.ts";
import { ingress, nothing, service } from "../support/kube-manifests.ts";
import { mayStall } from "../support/stall-limit.ts";

const OLD = "2026-01-01T00:00:00Z";
const NEW = "2026-02-01T00:00:00Z";

interface Sketch {
  readonly namespace: string;
  readonly host: string;
  readonly name?: string;
  readonly createdAt?: string;
  /** [{ hosts, secretName }]; the host with Secret "tls" when absent. */
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
  readonly paths?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
}

function secured({ tls, name = "web", ...sketch }: Sketch): Ingress {
  const made = ingress(name, { createdAt: OLD, ...sketch });
  return { ...made, spec: { ...made.spec, tls: tls ?? [{ hosts: [sketch.host], secretName: "tls" }] } };
}

function secretOf(namespace: string, { cert, key }: Pick<TestCertificate, "cert" | "key">, name = "tls"): Secret {
  const data = { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from(key).toString("base64") };
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data };
}

const made = (...dns: readonly string[]): TestCertificate => makeTestCertificate({ name: dns[0] ?? "", dns });
const seal: NonNullable<TranslateOptions["seal"]> = async (_value, { namespace, name }) =>
  `sealed.${namespace}.${name}`;

async function translated(objects: Partial<KubeObjects>, options: TranslateOptions = {}): Promise<Translation> {
  const services = [service("web", "shop"), service("web", "evil"), service("web", "blog")];
  return translate({ ...nothing, services, ...objects }, { seal, ...options });
}

/** "namespace host" of each certificate → its text. */
function certificates({ slices }: Translation): Readonly<Record<string, string>> {
  return Object.fromEntries(
    slices.flatMap(({ owner, settings }) =>
      Object.entries(settings?.host_certificates ?? {}).map(([host, { certificate }]) => {
        return [`${owner.slice("kubernetes.".length)} ${host}`, certificate.trim()];
      }),
    ),
  );
}

const problemsOf = ({ problems }: Translation): readonly string[] => problems.map(formatIngressProblem);

describe("a certificate of spec.tls", () => {
  test("is in the slice of its namespace with its key sealed, and nowhere else", async () => {
    const certificate = made("shop.example.com");
    const translation = await translated({
      ingresses: [secured({ namespace: "shop", host: "shop.example.com" })],
      secrets: [secretOf("shop", certificate)],
    });

    expect(translation.slices).toMatchObject([
      {
        owner: "kubernetes.shop",
        settings: {
          host_certificates: { "shop.example.com": { certificate_key_sealed: "sealed.shop.tls" } },
        },
      },
    ]);
    expect(translation.problems).toEqual([]);
    const line = certificate.key.split("\n")[1] ?? "";
    expect(renderSlices(translation, "json") + problemsOf(translation).join()).not.toContain(line);
    expect(translation.secrets).toEqual(["shop/tls"]);
  });

  test("is for the hosts of the rules where the entry names none", async () => {
    const translation = await translated({
      ingresses: [secured({ namespace: "shop", host: "shop.example.com", tls: [{ secretName: "tls" }] })],
      secrets: [secretOf("shop", made("shop.example.com"))],
    });

    expect(Object.keys(certificates(translation))).toEqual(["shop shop.example.com"]);
  });

  test("is for the hosts of the rules below a wildcard that the entry names", async () => {
    const wide = made("*.shop.example.com");
    const one = secured({
      namespace: "shop",
      host: "a.shop.example.com",
      tls: [{ hosts: ["*.shop.example.com"], secretName: "tls" }],
    });
    const [rule] = one.spec?.rules ?? [];
    const rules = ["a.shop.example.com", "b.shop.example.com", "c.b.shop.example.com"].map((host) => ({
      ...rule,
      host,
    }));
    const translation = await translated({
      ingresses: [{ ...one, spec: { ...one.spec, rules } }],
      secrets: [secretOf("shop", wide)],
    });

    expect(Object.keys(certificates(translation))).toEqual(["shop a.shop.example.com", "shop b.shop.example.com"]);
    expect(translation.problems).toEqual([]);
  });

  test("is not looked at where the operator says so, or where users come over http", async () => {
    const objects = {
      ingresses: [secured({ namespace: "shop", host: "shop.example.com" })],
      secrets: [secretOf("shop", made("shop.example.com"))],
    };
    for (const options of [{ ignoreTls: true }, { scheme: "http" as const }]) {
      const translation = await translated(objects, options);
      expect([certificates(translation), translation.secrets, translation.problems]).toEqual([{}, [], []]);
    }
  });
});

describe("a certificate for a host of another namespace", () => {
  const shop = secured({ namespace: "shop", host: "www.example.com" });
  const secrets = [
    secretOf("shop", made("www.example.com")),
    secretOf("evil", made("www.example.com", "evil.example.com")),
  ];

  test.each([
    [
      "beside a host of one's own",
      { host: "evil.example.com", tls: [{ hosts: ["www.example.com"], secretName: "tls" }] },
    ],
    ["in other letters", { host: "evil.example.com", tls: [{ hosts: ["WWW.example.com."], secretName: "tls" }] }],
    ["by a rule for it", { host: "www.example.com", paths: ["/evil"] }],
    [
      "by a wildcard over it",
      { host: "*.example.com", tls: [{ hosts: ["*.example.com", "www.example.com"], secretName: "tls" }] },
    ],
  ])("is not shown: %s", async (_, sketch) => {
    const evil = secured({ namespace: "evil", createdAt: NEW, ...sketch });
    const translation = await translated({ ingresses: [evil, shop], secrets });

    expect(Object.keys(certificates(translation))).toEqual(["shop www.example.com"]);
    expect(problemsOf(translation).join("\n")).toContain("Ingress evil/web: ");
  });

  test("is not presented on an unserved host, or if its own Ingress is omitted", async () => {
    const translation = await translated({
      ingresses: [
        secured({
          namespace: "evil",
          host: "evil.example.com",
          tls: [{ hosts: ["free.example.com"], secretName: "tls" }],
        }),
        secured({ namespace: "shop", host: "www.example.com", annotations: { timeout: "soon" } }),
      ],
      secrets: [secretOf("evil", made("free.example.com")), ...secrets],
    });

    expect(certificates(translation)).toEqual({});
    expect(problemsOf(translation)).toContainEqual(
      'Ingress evil/web: warning: "spec.tls[0].hosts[0]" is "free.example.com", which no Ingress of namespace evil serves, so its certificate is not shown',
    );
  });

  test("is not shown for a challenge's sake", async () => {
    const challenge: Ingress = {
      ...secured({ namespace: "evil", host: "free.example.com", paths: ["/.well-known/acme-challenge/token"] }),
    };
    const labelled = {
      ...challenge,
      metadata: { ...challenge.metadata, annotations: {}, labels: { "acme.cert-manager.io/http01-solver": "true" } },
    };
    const translation = await translated({
      ingresses: [labelled],
      secrets: [secretOf("evil", made("free.example.com"))],
    });

    expect([certificates(translation), translation.secrets]).toEqual([{}, []]);
  });

  test("of one that the operator lets namespaces share stays with the older Ingress", async () => {
    const hosts = readHostList("hosts.yaml", "www.example.com: [shop, blog]");
    const [first, second] = [made("www.example.com"), made("www.example.com")];
    const translation = await translated(
      {
        ingresses: [
          secured({ namespace: "blog", host: "www.example.com", createdAt: NEW, paths: ["/blog"] }),
          secured({ namespace: "shop", host: "www.example.com", paths: ["/shop"] }),
        ],
        secrets: [secretOf("shop", first), secretOf("blog", second)],
      },
      { hosts },
    );

    expect(certificates(translation)).toEqual({ "shop www.example.com": first.cert.trim() });
    expect(translation.ingresses.every(({ served }) => served)).toBe(true);
    expect(problemsOf(translation)).toEqual([
      'Ingress blog/web: warning: "spec.tls[0].hosts[0]" is "www.example.com", which has the certificate of namespace shop already: Ingress shop/web is older',
    ]);
  });
});

describe("a Secret", () => {
  test("of another namespace is out of reach", async () => {
    const reach = ["shop/tls", "../shop/tls", "shop.tls", "tls\u0000"].map((secretName) => ({
      hosts: ["evil.example.com"],
      secretName,
    }));
    const translation = await translated({
      ingresses: [secured({ namespace: "evil", host: "evil.example.com", tls: reach })],
      secrets: [secretOf("shop", made("evil.example.com"))],
    });

    expect(certificates(translation)).toEqual({});
    expect(translation.secrets).toEqual(["evil/shop.tls"]);
  });

  test("that clashes with another one for the same host gives way to the older Ingress's, and to the first entry", async () => {
    const [first, second] = [made("shop.example.com"), made("shop.example.com")];
    const hosts = ["shop.example.com"];
    const translation = await translated({
      ingresses: [
        secured({
          namespace: "shop",
          host: "shop.example.com",
          name: "newer",
          createdAt: NEW,
          paths: ["/b"],
          tls: [{ hosts, secretName: "b" }],
        }),
        secured({
          namespace: "shop",
          host: "shop.example.com",
          name: "older",
          paths: ["/a"],
          tls: [
            { hosts, secretName: "a" },
            { hosts, secretName: "b" },
          ],
        }),
      ],
      secrets: [secretOf("shop", first, "a"), secretOf("shop", second, "b")],
    });

    expect(certificates(translation)).toEqual({ "shop shop.example.com": first.cert.trim() });
    const clash =
      'is "shop.example.com", which has the certificate of Secret shop/a already: Ingress shop/older is older';
    expect(problemsOf(translation)).toEqual([
      `Ingress shop/older: warning: "spec.tls[1].hosts[0]" ${clash}`,
      `Ingress shop/newer: warning: "spec.tls[0].hosts[0]" ${clash}`,
    ]);
  });

  test("with the same certificate is no clash", async () => {
    const certificate = made("shop.example.com");
    const hosts = ["shop.example.com"];
    const tls = [
      { hosts, secretName: "a" },
      { hosts, secretName: "b" },
    ];
    const translation = await translated({
      ingresses: [secured({ namespace: "shop", host: "shop.example.com", tls })],
      secrets: [secretOf("shop", certificate, "a"), secretOf("shop", certificate, "b")],
    });

    expect(translation.problems).toEqual([]);
  });

  const good = made("shop.example.com");
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  const spoilt = (data: Readonly<Record<string, string>>): Secret => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "tls", namespace: "shop" },
    data: { ...secretOf("shop", good).data, ...data },
  });

  test.each<[string, Secret | undefined, string]>([
    [
      "is not there",
      undefined,
      "but there is no Secret shop/tls, or it cannot be read: the gateway's own certificate is used",
    ],
    [
      "has no key",
      { ...spoilt({}), data: { "tls.crt": encoded(good.cert) } },
      'but in Secret shop/tls "tls.key" is missing: ',
    ],
    ["has an empty certificate", spoilt({ "tls.crt": "" }), 'but in Secret shop/tls "tls.crt" is empty: '],
    ["is no base64", spoilt({ "tls.crt": "hunter2!" }), 'but in Secret shop/tls "tls.crt" is not base64: '],
    ["is no text", spoilt({ "tls.crt": "gICA" }), 'but in Secret shop/tls "tls.crt" is not UTF-8 text: '],
    ["is no certificate", spoilt({ "tls.crt": encoded("hunter2") }), 'but in Secret shop/tls "tls.crt" must be PEM: '],
    [
      "has the key of another",
      spoilt({ "tls.key": encoded(made("x").key) }),
      'but in Secret shop/tls "tls.key" cannot be used: the key is not the certificate\'s: ',
    ],
    [
      "has no usable key",
      spoilt({ "tls.key": encoded("hunter2") }),
      'but in Secret shop/tls "tls.key" cannot be used: the key is not a PEM private key without a passphrase: ',
    ],
    [
      "is for another host",
      secretOf("shop", made("other.example.com")),
      "but the certificate of Secret shop/tls is for other.example.com, must be for shop.example.com",
    ],
  ])("that %s is named with its place, and its Ingress is served", async (_, secret, message) => {
    const translation = await translated({
      ingresses: [secured({ namespace: "shop", host: "shop.example.com" })],
      secrets: secret ? [secret] : [],
    });

    expect(certificates(translation)).toEqual({});
    expect(translation.ingresses).toEqual([{ key: "shop/web", served: true }]);
    const [problem = "", ...others] = problemsOf(translation);
    expect(problem).toContain('Ingress shop/web: warning: "spec.tls[0].');
    expect(problem).toContain(message);
    expect([others, problem.includes("hunter2")]).toEqual([[], false]);
  });

  test("that becomes invalid keeps its last valid certificate; a deleted one leaves none", async () => {
    const ingresses = [secured({ namespace: "shop", host: "shop.example.com" })];
    const before = await translated({ ingresses, secrets: [secretOf("shop", good)] });

    const bad = await translated(
      { ingresses, secrets: [spoilt({ "tls.key": encoded("hunter2") })] },
      { pairs: before.pairs },
    );
    expect(certificates(bad)).toEqual(certificates(before));
    expect(problemsOf(bad)[0]).toContain("the earlier certificate stays");
    const still = await translated({ ingresses, secrets: [spoilt({ "tls.crt": "" })] }, { pairs: bad.pairs });
    expect(certificates(still)).toEqual(certificates(before));

    const gone = await translated({ ingresses, secrets: [] }, { pairs: still.pairs });
    expect([certificates(gone), gone.pairs.size]).toEqual([{}, 0]);
  });

  test("cannot be sealed without the gateway's key, and the Ingress is served", async () => {
    const { seal: _, ...options } = { seal };
    const objects = {
      ingresses: [secured({ namespace: "shop", host: "shop.example.com" })],
      secrets: [secretOf("shop", good)],
    };
    const services = [service("web", "shop")];
    const translation = await translate({ ...nothing, services, ...objects }, options);

    expect(certificates(translation)).toEqual({});
    expect(problemsOf(translation)[0]).toContain("the gateway's key is not known");
    expect(translation.ingresses[0]?.served).toBe(true);
  });

  test("is reported before and after its expiry, and before its start, with stable messages", async () => {
    const DAY_MS = 86_400_000;
    const objects = {
      ingresses: [secured({ namespace: "shop", host: "shop.example.com" })],
      secrets: [secretOf("shop", good)],
    };
    // Ten days are left, of eleven.
    const at = async (days: number): Promise<string> =>
      problemsOf(await translated(objects, { nowMs: Date.now() + days * DAY_MS })).join();

    expect(await at(7)).toBe("");
    expect(await at(8.5)).toMatch(
      /"spec\.tls\[0\]\.secretName" is "tls", whose certificate ends \d{4}-.*Z, and was not renewed yet$/,
    );
    expect(await at(9)).toBe(await at(8.5));
    expect(await at(10.5)).toMatch(/whose certificate ended \d{4}-.*Z$/);
    expect(await at(-2)).toMatch(/whose certificate begins \d{4}-.*Z, which is not yet$/);
    expect(Object.keys(certificates(await translated(objects, { nowMs: Date.now() + 20 * DAY_MS })))).toHaveLength(1);
  });

  test("is shown on no more hosts than its namespace has room for", async () => {
    const hosts = Array.from({ length: 400 }, (_, index) => `h${index}.evil.example.com`);
    const wide = made("*.evil.example.com");
    // The longest chain that is taken.
    const cert = wide.cert.repeat(Math.floor(65_000 / wide.cert.length));
    const evil = secured({ namespace: "evil", host: "evil.example.com", tls: [{ secretName: "tls" }] });
    const rules = hosts.map((host) => ({ ...evil.spec?.rules?.[0], host }));
    const translation = await translated({
      ingresses: [
        { ...evil, spec: { ...evil.spec, rules } },
        secured({ namespace: "shop", host: "shop.example.com", createdAt: NEW }),
      ],
      secrets: [secretOf("evil", { ...wide, cert }), secretOf("shop", good)],
    });

    for (const slice of translation.slices) expect(JSON.stringify(slice).length).toBeLessThan(9 * 1024 * 1024);
    expect(certificates(translation)).toHaveProperty("shop shop.example.com");
    expect(problemsOf(translation).at(-1)).toContain("no longer fits into the configuration");
  });

  test("costs no more for being named with all hosts, each of many times", { timeout: 20_000 }, async () => {
    // The translation is a process of its own.
    mayStall(1000);
    const hosts = Array.from({ length: 3_000 }, (_, index) => `h${index}.evil.example.com`);
    const one = secured({ namespace: "evil", host: "evil.example.com" });
    const [rule] = one.spec?.rules ?? [];
    const entries = hosts.map((_, index) => ({
      secretName: `s${index % 500}`,
      ...(index % 2 === 0 && { hosts: ["*.evil.example.com"] }),
    }));
    const wide = [made("*.evil.example.com"), made("*.evil.example.com")];
    const secrets = Array.from({ length: 500 }, (_, at) => secretOf("evil", wide[at % 2] ?? good, `s${at}`));
    const evil = { ...one, spec: { ...one.spec, tls: entries, rules: hosts.map((host) => ({ ...rule, host })) } };

    const translation = await translated({
      ingresses: [evil, secured({ namespace: "shop", host: "shop.example.com" })],
      secrets: [...secrets, secretOf("shop", good)],
    });
    expect(certificates(translation)).toHaveProperty("shop shop.example.com");
    expect(translation.problems.length).toBeLessThanOrEqual(100);
  });

  test("is one of a thousand at most that a namespace has read", async () => {
    const tls = Array.from({ length: 1_005 }, (_, index) => ({ hosts: ["shop.example.com"], secretName: `s${index}` }));
    const { secrets } = await translated({
      ingresses: [
        secured({ namespace: "evil", host: "evil.example.com", tls }),
        secured({ namespace: "shop", host: "shop.example.com" }),
      ],
    });

    expect(secrets.filter((name) => name.startsWith("evil/"))).toHaveLength(1_000);
    expect(secrets).toContain("shop/tls");
  });
});
