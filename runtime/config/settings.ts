/** All settings other than routes, from all features, in the order of the reference. */
import { consoleShape } from "../features/access/console.ts";
import { bearerShape } from "../features/access/settings.ts";
import { catalogSettingsShape } from "../features/catalog/settings.ts";
import { upstreamTimeoutShape } from "../features/connection/settings.ts";
import { headerSettingsShape } from "../features/headers/settings.ts";
import { adminListenerShape, listenerShape, streamShape } from "../features/listener/settings.ts";
import { acmeShape } from "../features/listener/acme.ts";
import { HOST_CERTIFICATES, hostCertificateShape } from "../features/listener/host-certificates.ts";
import { lifetimeShape, mcpSettingsShape } from "../features/mcp/settings.ts";
import { brandingShape } from "../features/process/branding.ts";
import { developmentShape, keysShape, logShape, ownersShape } from "../features/process/settings.ts";
import { vaultShape } from "../features/process/vault.ts";
import { webhookShape } from "../features/process/webhook.ts";
import { recordFieldsShape, recordsShape } from "../features/records/settings.ts";
import { recordSinksShape } from "../features/records/sinks.ts";
import { recordStoreShape } from "../features/records/record-store.ts";
import { directoriesShape } from "../features/sign-in/directories.ts";
import { cookieShape, signInShape } from "../features/sign-in/settings.ts";
import { trustedIssuersShape } from "../features/sign-in/trusted-issuers.ts";
import { type DocOf, fieldsOf } from "../settings/types/registry.ts";
import { document } from "../settings/types/block.ts";

/** Dynamic settings, also allowed in published slices. */
const liveShape = {
  ...mcpSettingsShape,
  ...catalogSettingsShape,
  ...recordFieldsShape,
  ...signInShape,
  ...trustedIssuersShape,
  ...directoriesShape,
  ...bearerShape,
  ...cookieShape,
  ...lifetimeShape,
  ...headerSettingsShape,
  ...hostCertificateShape,
  ...streamShape,
  ...upstreamTimeoutShape,
};

/**
 * Static settings, allowed only in the file passed to `gateway run`: a process needs them before it reads any slice.
 */
const bootShape = {
  ...listenerShape,
  ...acmeShape,
  ...developmentShape,
  ...adminListenerShape,
  ...keysShape,
  ...vaultShape,
  ...recordsShape,
  ...recordSinksShape,
  ...recordStoreShape,
  ...logShape,
  ...webhookShape,
  ...consoleShape,
  ...brandingShape,
  // Excluded, because an owner needs no permission for certificates of its own hosts.
  ...ownersShape(Object.keys(liveShape).filter((name) => name !== HOST_CERTIFICATES)),
};

export const settingsSchema = document({ ...bootShape, ...liveShape });
const bootSchema = document(bootShape);
const liveSchema = document(liveShape);

/** The static settings as written. */
export type BootDoc = DocOf<typeof bootSchema>;
/** The dynamic settings as written. */
export type SettingsDoc = DocOf<typeof liveSchema>;

export const bootNames: ReadonlySet<string> = new Set(Object.keys(bootShape));

/** Every setting other than routes, static ones first. */
export const settingsFields = [...fieldsOf(bootShape, "boot"), ...fieldsOf(liveShape, "live")];
