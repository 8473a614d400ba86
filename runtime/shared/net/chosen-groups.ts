/** TLS of this process toward others. */
import tls from "node:tls";

const NO_CHOSEN_GROUPS = "!kDHE";

/**
 * In DHE of TLS 1.2 the server makes up the group: one of 10,000 bits holds up the thread for a second with each connection. Named
 * groups and elliptic curves stay. It is the default of the whole thread, so that no library's connections are left out.
 */
export function refuseChosenGroups(): void {
  if (!tls.DEFAULT_CIPHERS.includes(NO_CHOSEN_GROUPS)) tls.DEFAULT_CIPHERS += `:${NO_CHOSEN_GROUPS}`;
}
