/**
 * Compiles checked texts into one snapshot, in short turns between requests.
 *
 * Reuses a compiled route while its text, the settings and its secrets are unchanged, so that dependent state
 * (assertions, connections) survives other owners' reloads.
 */
import { settingsFields } from "../../config/settings.ts";
import { setImmediate as nextTurn } from "node:timers/promises";

import { compileRoute, compileSettings } from "../../config/compile-settings.ts";
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { HAND_WRITTEN_OWNER } from "../../features/process/owners.ts";
import type { Problem } from "../../settings/problem.ts";
import { createPolicyCompiler, type PolicyCompiler } from "../../config/policies.ts";
import { type RouteDoc, routeFields } from "../../config/route.ts";
import { type SecretSource, secretUses } from "../../settings/secret-forms.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { errorText } from "../../shared/errors.ts";
import { buildCertificates, sameCertificates } from "./build-certificates.ts";
import type { RouteText } from "../validation/protocol.ts";
import { lateSecrets } from "./late-secrets.ts";
import { compiledWith, recording, sameSecrets } from "./recorded-secrets.ts";
import { secretNeeds } from "./secret-needs.ts";
import type { Build, Compiled, BuildInput, Stale, Failure, BuildReport } from "./build-types.ts";

export type BuildOutcome =
  | GoodBuild
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly failures: readonly Failure[] };

export interface GoodBuild {
  readonly ok: true;
  readonly build: Build;
  readonly stale: readonly Stale[];
}

/** A longer turn would delay requests measurably. */
const TURN_BUDGET_MS = 2;

/** Time source and yield of a build. */
export interface BuildPace {
  nowMs(): number;
  /** Resolves after one round of the event loop. */
  nextTurn(): Promise<void>;
}

const OWN_PACE: BuildPace = { nowMs: () => performance.now(), nextTurn: () => nextTurn() };

/** @param last build whose parts may be reused */
export async function buildSnapshot(
  input: BuildInput,
  last: Build | undefined,
  pace: BuildPace = OWN_PACE,
): Promise<BuildOutcome> {
  const problems: Problem[] = [];
  const failures: Failure[] = [];
  const stale: Stale[] = [];
  const into = { problems, failures, stale };
  const settings = settingsOf(input, last, into);
  if (!settings) return { ok: false, problems, failures };
  const reusable = settings.value === last?.settings ? last : undefined;
  const compiled = new Map<string, Compiled>();
  const routes: CompiledRoute[] = [];
  const { separatesOwners } = input;
  let unchanged = reusable?.separatesOwners === separatesOwners && reusable.routes.length === input.routes.length;
  const policies = createPolicyCompiler();
  let turnStartedMs = pace.nowMs();

  for (const text of input.routes) {
    const before = last?.compiled.get(text.key);
    const known = before?.text === text.text ? before : undefined;
    const isReusable =
      reusable !== undefined &&
      known !== undefined &&
      known.reach === text.reach &&
      known.route.limitedTo === text.limitedTo;
    const kept = isReusable && sameSecrets(known.secrets, input.secrets) ? known : undefined;
    const entry = kept ?? compileOne(text, settings.value, { input, policies, known, isReusable }, into);
    if (entry !== known) unchanged = false;
    if (entry) {
      compiled.set(text.key, entry);
      routes.push(entry.route);
    }
    if (pace.nowMs() - turnStartedMs > TURN_BUDGET_MS) {
      await pace.nextTurn();
      turnStartedMs = pace.nowMs();
    }
  }
  const certificates = await buildCertificates(input, last?.certificates ?? new Map(), into);
  if (!last || !sameCertificates(certificates, last.certificates)) unchanged = false;
  if (problems.length > 0) return { ok: false, problems, failures };
  stale.push(...lateSecrets(input, { settings: settings.secrets, compiled, certificates }));
  const build = { settings: settings.value, certificates, separatesOwners, routes, unchanged, compiled };
  return { ok: true, stale, build: { ...build, settingsText: settings.text, settingsSecrets: settings.secrets } };
}

function settingsOf(input: BuildInput, last: Build | undefined, { problems, failures, stale }: BuildReport) {
  const text = canonicalJson(input.settings);
  const isSame = last?.settingsText === text;
  if (last && isSame && sameSecrets(last.settingsSecrets, input.secrets)) {
    return { value: last.settings, text, secrets: last.settingsSecrets };
  }
  const problemOf = (message: string): Problem => ({
    severity: "error",
    file: input.fileOf(HAND_WRITTEN_OWNER),
    path: [],
    message,
  });
  try {
    const { source, secrets } = recording(input.secrets);
    return { value: compileSettings(input.settings, source), text, secrets };
  } catch (error) {
    const message = errorText(error);
    const before = last && compiledWith(last.settingsSecrets, (source) => compileSettings(input.settings, source));
    if (last && before) {
      stale.push({ owner: HAND_WRITTEN_OWNER, problem: problemOf(message) });
      return { value: isSame ? last.settings : before, text, secrets: last.settingsSecrets };
    }
    problems.push(problemOf(message));
    failures.push({ key: undefined, text, message, needs: secretNeeds(secretUses(settingsFields, input.settings)) });
    return undefined;
  }
}

interface RouteInput {
  readonly input: BuildInput;
  /** Policies of this build. */
  readonly policies: PolicyCompiler;
  /** Previous result for the same text. */
  readonly known: Compiled | undefined;
  /** Compiled with the same settings and the same reach. */
  readonly isReusable: boolean;
}

function compileOne(
  { text, ...rest }: RouteText,
  settings: LiveSettings,
  { input: { secrets: all, fileOf }, policies, known, isReusable }: RouteInput,
  { problems, failures, stale }: BuildReport,
): Compiled | undefined {
  const doc = JSON.parse(text) as RouteDoc;
  const { key, owner, reach } = rest;
  const checked = { ...rest, doc, text };
  const compile = (source: SecretSource): CompiledRoute => compileRoute(checked, settings, source, policies);
  try {
    const { source, secrets } = recording(all, owner);
    return { text, reach, route: compile(source), secrets };
  } catch (error) {
    const path = ["routes", key.slice(owner.length + 1)];
    const problem: Problem = { severity: "error", file: fileOf(owner), path, message: errorText(error) };
    // Never yield for the main configuration file: that would hold back all owners' changes.
    const over = owner === HAND_WRITTEN_OWNER ? undefined : all.over;
    const before = known && compiledWith(known.secrets, compile, over);
    if (known && before) {
      stale.push({ owner, problem });
      return isReusable ? known : { ...known, reach, route: before };
    }
    problems.push(problem);
    failures.push({ key, text, message: problem.message, needs: secretNeeds(secretUses(routeFields, doc)) });
    return undefined;
  }
}
