/** Settings of the listeners as they read them. */

/** A certificate of the public listener that a slice brings. */
export interface HostCertificate {
  /** "app.example.com", or "*.example.com" for one label. */
  readonly host: string;
  readonly owner: string;
  /** PEM, with those between it and the root. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}
