/** `gateway doctor --ca`: additional certificate authorities for this process. */
import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

import { attempting } from "../../shared/errors.ts";

/** @throws GatewayError `doctor.ca` */
export async function trustAlso(file: string): Promise<void> {
  await attempting("doctor.ca", `Cannot use the certificates in "${file}"`, async () => {
    const pem = await readFile(file, "utf8");
    const found = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
    if (!found) throw new Error("it contains no PEM certificate");
    setDefaultCACertificates([...getCACertificates("default"), ...found]);
  });
}
