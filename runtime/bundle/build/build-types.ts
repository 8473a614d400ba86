/** Input and result of a build of the bundle. */
import type { SettingsDoc } from "../../config/settings.ts";
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import type { Problem } from "../../settings/problem.ts";
import type { Refusal } from "../../config/refusals.ts";
import type { SecretSource } from "../../settings/secret-forms.ts";
import type { CertificateText, RouteText } from "../validation/protocol.ts";
import type { Secrets } from "./recorded-secrets.ts";
import type { ResolvedSecrets } from "../secrets.ts";
import type { SecretNeeds } from "./secret-needs.ts";
import type { HostCertificate } from "../../features/listener/compiled.ts";

/** Result of one build, reusable by the next. */
export interface Build {
  readonly settings: LiveSettings;
  readonly routes: readonly CompiledRoute[];
  readonly certificates: CompiledCertificates;
  readonly separatesOwners: boolean;
  /** Equal to the previous build. */
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
  /** The main configuration file has `owners`. */
  readonly separatesOwners: boolean;
  /** Certificates of slices, by host. */
  readonly certificates: readonly CertificateText[];
  readonly routes: readonly RouteText[];
  readonly secrets: SecretSource & Partial<Pick<ResolvedSecrets, "late" | "over">>;
  /** File to name if an owner's route cannot be compiled. */
  readonly fileOf: (owner: string) => string;
}

/** Configuration that still uses its previous secrets, because the current ones cannot be read. */
export interface Stale {
  readonly owner: string;
  readonly problem: Problem;
  /** The current version is active, but one of its secrets could not be refreshed. */
  readonly isLate?: true;
}

/** A text that could not be compiled. */
export interface Failure extends Refusal {
  /** Secrets it reads; with other values it may compile. */
  readonly needs: SecretNeeds;
}

/** Collects findings during a build. */
export interface BuildReport {
  readonly problems: Problem[];
  readonly failures: Failure[];
  readonly stale: Stale[];
}

/** By `<owner>/<host>`. */
export type CompiledCertificates = ReadonlyMap<string, CompiledOne>;

export interface CompiledOne {
  readonly text: string;
  readonly certificate: HostCertificate;
  readonly secrets: Secrets;
}
