/** Version of the gateway and its package; a test compares the two. */
export const VERSION = "0.1.0";

/** Names of the publishing tools. A gateway stores them: manual changes to such a slice do not last. */
export const TERRAFORM_PROGRAM = "gateform-terraform";
export const KUBERNETES_PROGRAM = "gateform-kubernetes";

/** @see RFC 9110 §10.1.5 */
export function userAgentOf(program: string): string {
  return `${program}/${VERSION}`;
}
