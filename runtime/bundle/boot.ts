/** Boot settings as written → compiled, with their own secrets read. Done once, at start. */
import { decodeSharedSecret } from "../config/boot-settings.ts";
import { compileBoot } from "../config/compile.ts";
import type { BootSettings } from "../config/compiled.ts";
import { secretUses, secretValues } from "../config/secrets.ts";
import { type BootDoc, settingsFields } from "../config/settings.ts";
import { GatewayError } from "../errors.ts";
import { createKeys } from "../keys.ts";
import { type SecretNeeds, secretNeeds } from "./secret-needs.ts";
import { createSealing, readSecrets, type SecretDeps, type Sealing } from "./secrets.ts";

export interface Boot {
  readonly settings: BootSettings;
  /** Absent without `shared_secret`. */
  readonly sealing: Sealing | undefined;
}

/** @throws GatewayError `config.secret` */
export async function resolveBoot(doc: BootDoc, env: SecretDeps["env"]): Promise<Boot> {
  const needs = secretNeeds(secretUses(settingsFields, doc));
  const sealing = await sealingOf(doc, { refs: needs.refs, sealed: [] }, env);
  const settings = compileBoot(doc, await readSecrets(needs, { env, sealing }));
  return { settings, sealing };
}

/** The key to sealed secrets is made from `shared_secret`, so that one cannot itself be sealed. */
async function sealingOf(doc: BootDoc, needs: SecretNeeds, env: SecretDeps["env"]): Promise<Sealing | undefined> {
  const secrets = await readSecrets(needs, { env });
  const source = {
    resolve: (ref: string) => secrets.resolve(ref),
    open: () => {
      throw new GatewayError("config.secret", 'Cannot read a sealed "shared_secret": it is what opens sealed secrets');
    },
  };
  const written = ["shared_secret", "previous_shared_secret"].flatMap((name) => secretValues(doc, name, source));
  // What is too short or no base64 is reported by the compiler.
  const raw = written.flatMap((value) => decodeSharedSecret(value) ?? []);
  return raw.length > 0 && raw.length === written.length ? createSealing(createKeys(raw)) : undefined;
}
