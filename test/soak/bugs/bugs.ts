/** Bugs that could be made, each as replacements of text in runtime/, and the check that must catch it. */
export interface Replacement {
  /** Below runtime/. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Bug {
  readonly name: string;
  /** Name of the check (checks/) that must find it. */
  readonly caughtBy: string;
  readonly changes: readonly Replacement[];
}

export const BUGS: readonly Bug[] = [
  {
    name: "code-used-unchecked",
    caughtBy: "redeemed-once",
    changes: [
      {
        file: "oauth/server/grants/grant-code.ts",
        find: 'return marked.ok ? createGrant(deps, request, code, audience.value) : badCode("used at the same time");',
        replace: "return marked.key === undefined ? createGrant(deps, request, code, audience.value) : badCode();",
      },
      {
        file: "oauth/server/grants/grant-code.ts",
        find: "if (code.value.used) {",
        replace: "if (code.value.used && code.value.replayed) {",
      },
    ],
  },
  {
    name: "refresh-without-compare-and-set",
    caughtBy: "redeemed-once",
    changes: [
      {
        file: "oauth/server/grants/grant-refresh.ts",
        find: "const written = await deps.store.put(grantKey(grantId), { ...renewed, refresh } satisfies GrantRecord, {\n    ifVersion: grant.version,",
        // By a store that is slow at the moment: the doubles of this traffic do not always come within a millisecond.
        replace:
          "await new Promise((go) => setTimeout(go, 150)); const written = await deps.store.put(grantKey(grantId), { ...renewed, refresh }, {",
      },
      {
        file: "oauth/server/grants/grant-refresh.ts",
        find: "deps.store.lease(`refresh:${attempt.opened.grantId}`, ttlMs)",
        replace: "deps.store.lease(`refresh:${attempt.opened.grantId}:${process.pid}`, ttlMs)",
      },
    ],
  },
  {
    name: "refresh-doubles-get-their-own",
    caughtBy: "redeemed-once",
    changes: [
      {
        file: "oauth/server/grants/grant-refresh.ts",
        find: "if (audience.value === answer.audience) return pass(answer);",
        replace:
          "if (audience.value === answer.audience) return pass({ ...answer, refreshToken: mintRefreshToken(deps.keys, attempt.owner, attempt.opened.grantId, 99, grant.value) });",
      },
    ],
  },
  {
    name: "assertion-not-noted",
    caughtBy: "redeemed-once",
    changes: [
      {
        file: "oauth/server/clients/client-assertion.ts",
        find: 'return noted.ok ? pass(client) : failed("jti used before");',
        replace: "return noted === undefined ? failed() : pass(client);",
      },
    ],
  },
  {
    name: "approval-not-used-up",
    caughtBy: "redeemed-once",
    changes: [
      {
        file: "approvals/approvals.ts",
        find: 'const { ok } = await this.#put(key.slice(approvalKey("").length), used, expiresAt, version);',
        replace: "const ok = used !== undefined && expiresAt > 0 && version > 0 && key !== undefined;",
      },
    ],
  },
  {
    name: "consent-forgotten",
    caughtBy: "nothing-lost",
    changes: [
      {
        file: "oauth/server/authorize/waiting-request.ts",
        find: "expiresAt: now + CONSENT_SECONDS,",
        replace: "expiresAt: now + Math.ceil(CONSENT_SECONDS / 1e7),",
      },
    ],
  },
  {
    name: "revocation-in-memory",
    caughtBy: "nothing-lost",
    changes: [
      {
        file: "identity/revocations.ts",
        find: "    learn(key);\n    await writes.settle(key);",
        replace: "    learn(key);",
      },
    ],
  },
  {
    name: "revocations-unheard",
    caughtBy: "ended-rights",
    changes: [
      {
        file: "identity/revocations.ts",
        find: 'if (typeof key === "string") learn(key);',
        replace: 'if (typeof key === "string" && isWide(key)) learn(key);',
      },
    ],
  },
  {
    name: "blocks-unheard",
    caughtBy: "ended-rights",
    changes: [{ file: "identity/blocks.ts", find: "onEntry: () => (isStale = true),", replace: "onEntry: () => {}," }],
  },
  {
    name: "publish-said-too-early",
    caughtBy: "bundles",
    changes: [
      {
        file: "bundle/publisher.ts",
        find: "...(await this.#live(stored.generation, [...stored.slices.keys()])) }",
        replace: "replicas: 1, laggards: [], ...(stored.generation < 0 && (await this.#live(stored.generation, []))) }",
      },
    ],
  },
  {
    name: "publish-without-compare-and-set",
    caughtBy: "bundles",
    changes: [
      {
        file: "bundle/publisher.ts",
        find: "store.put(PUBLICATION_KEY, next, { ifVersion: version });",
        replace: "store.put(PUBLICATION_KEY, next, version < 0 ? { ifVersion: version } : {});",
      },
    ],
  },
  {
    name: "records-lost-at-reload",
    caughtBy: "one-record",
    changes: [
      {
        file: "proxy/decide.ts",
        find: "const recorded = records.write(formatRecord(fields, input), extra);",
        replace:
          "const isNew = deps.seen !== context.snapshot; deps.seen = context.snapshot; const recorded = isNew ? undefined : records.write(formatRecord(fields, input), extra);",
      },
    ],
  },
  {
    name: "refusals-not-recorded",
    caughtBy: "one-record",
    changes: [
      {
        file: "proxy/decide.ts",
        find: "const recorded = records.write(formatRecord(fields, input), extra);",
        replace:
          "const recorded = check.decision.allowed ? records.write(formatRecord(fields, input), extra) : undefined;",
      },
    ],
  },
];
