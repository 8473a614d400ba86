/** Automatic certificates (acme/) as the listeners use them, with responses to pending challenges. */
import type { HostCertificate } from "../../features/listener/compiled.ts";

export interface IssuedCertificates {
  /** @param serverName lower case */
  find(serverName: string): HostCertificate | undefined;
  /** For clients that name no host, if there are no certificates in files. */
  first(): HostCertificate | undefined;
  /** For a validation by TLS-ALPN-01 (RFC 8737); undefined unless an order for this name is pending. */
  challenge(serverName: string): HostCertificate | undefined;
  /** Body for a validation by HTTP-01 (RFC 8555 §8.3); undefined unless an order for this name is pending. */
  httpAnswer(host: string, token: string): string | undefined;
  /** Called after each change of the certificates in use. */
  onChange(listener: () => void): void;
}

/** Protocol of a validation connection, which serves no requests. */
export const ACME_PROTOCOL = "acme-tls/1";
export const ACME_PATH = "/.well-known/acme-challenge/";
