/** What a build of the bundle takes, and what it leaves. */
import type { SettingsDoc } from "../../config/settings.ts";
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import type { Problem } from "../../settings/problem.ts";
import type { Refusal } from "../../config/refusals.ts";
import type { SecretSource } from "../../settings/secret-spellings.ts";
import type { CertificateText, RouteText } from "../validation/protocol.ts";
import type { Secrets } from "./recorded-secrets.ts";
import type { ResolvedSecrets } from "../secrets.ts";
import type { SecretNeeds } from "./secret-needs.ts";
import type { HostCertificate } from "../../features/listener/compiled.ts";

/** What one build leaves for the next. */
export interface Build {
  readonly settings: LiveSettings;
  readonly routes: readonly CompiledRoute[];
  readonly certificates: CompiledCertificates;
  readonly holdsOwnersApart: boolean;
  /** Nothing differs from the build before. */
  readonly unchanged: boolean;
  readonly settingsText: string;
  readonly settingsSecrets: Secrets;
  readonly compiled: ReadonlyMap<string, Compiled>;
}

export interface Compiled {
  readonly text: string;
  readonly reach: RouteText["reach"];
  readonly route: CompiledRoute;
  readonly secrets: Secrets;
}

export interface BuildInput {
  readonly settings: SettingsDoc;
  /** The boot file has `owners`. */
  readonly holdsOwnersApart: boolean;
  /** Of slices, by host. */
  readonly certificates: readonly CertificateText[];
  readonly routes: readonly RouteText[];
  readonly secrets: SecretSource & Partial<Pick<ResolvedSecrets, "late" | "over">>;
  /** File to name when an owner's route cannot be compiled. */
  readonly fileOf: (owner: string) => string;
}

/** What goes on with the secrets of the last build, because those of now cannot be read. */
export interface Stale {
  readonly owner: string;
  readonly problem: Problem;
  /** What is written is in force, with a secret that cannot be refreshed. */
  readonly isLate?: true;
}

/** A text that could not be compiled. */
export interface Failure extends Refusal {
  /** What it reads: with other secrets it may be compiled. */
  readonly needs: SecretNeeds;
}

/** Gets what is found on the way. */
export interface BuildReport {
  readonly problems: Problem[];
  readonly failures: Failure[];
  readonly stale: Stale[];
}

/** By key. */
export type CompiledCertificates = ReadonlyMap<string, CompiledOne>;

export interface CompiledOne {
  readonly text: string;
  readonly certificate: HostCertificate;
  readonly secrets: Secrets;
}
