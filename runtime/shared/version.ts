/** Version of the gateway and its package; a test compares the two. */
export const VERSION = "0.1.0";

/** Commit and its time in seconds: `git archive`, from which releases are built, fills them in (`.gitattributes`). */
const STAMP = "$Format:%H %ct$";

/** @returns undefined for a build from a checkout, whose files may differ from every commit */
export function readBuild(stamp: string = STAMP): { readonly commit: string; readonly date: Date } | undefined {
  const [, commit, seconds] = /^([0-9a-f]{40}|[0-9a-f]{64}) (\d{1,12})$/.exec(stamp) ?? [];
  return commit === undefined ? undefined : { commit, date: new Date(Number(seconds) * 1000) };
}

/** Names of the publishing tools. A gateway stores them: manual changes to such a slice do not last. */
export const TERRAFORM_PROGRAM = "gateform-terraform";
export const KUBERNETES_PROGRAM = "gateform-kubernetes";

/** @see RFC 9110 §10.1.5 */
export function userAgentOf(program: string): string {
  return `${program}/${VERSION}`;
}
