/** Version of this program: that of the package, which a test compares. */
export const VERSION = "0.1.0";

/** What the programs that publish slices call themselves to a gateway, which remembers it: changes made there do not last. */
export const TERRAFORM_PROGRAM = "gateform-terraform";
export const KUBERNETES_PROGRAM = "gateform-kubernetes";

/** @see RFC 9110 §10.1.5 */
export function userAgentOf(program: string): string {
  return `${program}/${VERSION}`;
}
