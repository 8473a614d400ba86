/** A certificate for localhost that requests of this process trust. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setDefaultCACertificates } from "node:tls";

import { makeTestCertificate } from "../../support/certificates.ts";

export async function trustedCertificate(
  directory: string,
): Promise<{ readonly certificateFile: string; readonly keyFile: string }> {
  const authority = makeTestCertificate({ name: "Benchmark", isAuthority: true });
  const { cert, key } = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  const files = { certificateFile: join(directory, "server.crt"), keyFile: join(directory, "server.key") };
  await writeFile(files.certificateFile, cert);
  await writeFile(files.keyFile, key);
  setDefaultCACertificates([authority.cert]);
  return files;
}
