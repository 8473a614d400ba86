/** TLS settings for outgoing connections of this process. */
import tls from "node:tls";

const NO_CHOSEN_GROUPS = "!kDHE";

/**
 * In DHE of TLS 1.2 the server chooses the group: one of 10,000 bits blocks the thread for a second per connection.
 * Named groups and elliptic curves remain. Sets the default of the whole thread, so that it covers every library's
 * connections.
 */
export function refuseChosenGroups(): void {
  if (!tls.DEFAULT_CIPHERS.includes(NO_CHOSEN_GROUPS)) tls.DEFAULT_CIPHERS += `:${NO_CHOSEN_GROUPS}`;
}
