/** `gateway ingress translate`: manifest files → the slices of their namespaces. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

import { isOwner, OWNER_EXPECTED } from "../features/process/owners.ts";
import { quote } from "../settings/problem.ts";
import { attempting, GatewayError } from "../shared/errors.ts";
import { checkSealKey, sealSecret } from "../terraform/resource/seal.ts";
import { readManifests } from "./translate/manifests.ts";
import { createDirectoryPublisher } from "./controller/directory-publisher.ts";
import { readHostList } from "./translate/hosts/host-list.ts";
import { sliceTexts } from "./controller/publisher.ts";
import { renderProblems, renderSlices } from "./render.ts";
import type { Seal } from "./translate/secret-values.ts";
import { DEFAULT_OWNER, ownerOf } from "./translate/slices.ts";
import { translate, type TranslateOptions } from "./translate/translate.ts";

/** Options of the command line. */
export interface TranslateCommand {
  readonly class?: string;
  readonly owner?: string;
  readonly scheme?: string;
  readonly port?: string;
  readonly plainHttp?: boolean;
  readonly clusterDomain?: string;
  /** File with the gateway's public key (JWK), from `/status` of its admin address. */
  readonly sealKey?: string;
  readonly json?: boolean;
  /** File with the hosts that namespaces share, or that are reserved for some. */
  readonly hosts?: string;
  readonly externalNames?: boolean;
  /** False: `spec.tls` is ignored. */
  readonly tlsSecrets?: boolean;
  /** Directory for the slices, instead of printing them. */
  readonly write?: string;
}

export interface TranslateResult {
  /** The slices; "" when the files could not be read, or the slices were written. */
  readonly output: string;
  readonly problems: string;
  /** False when any Ingress is omitted. */
  readonly ok: boolean;
}

/** RFC 1123. */
const MAX_NAMESPACE_LENGTH = 63;

/** @throws GatewayError `ingress.option`, `ingress.unreadable` */
export async function translateFiles(files: readonly string[], command: TranslateCommand): Promise<TranslateResult> {
  const options = await translateOptions(command);
  const sources = await Promise.all(files.map(async (file) => ({ file, text: await readText(file) })));
  const { objects, problems } = readManifests(sources);
  if (problems.length > 0) return { output: "", problems: `${problems.join("\n")}\n`, ok: false };
  const translation = await translate(objects, options);
  if (command.write !== undefined) {
    await createDirectoryPublisher(command.write, options.owner ?? DEFAULT_OWNER).publish(
      sliceTexts(translation.slices),
    );
  }
  return {
    output: command.write === undefined ? renderSlices(translation, command.json === true ? "json" : "yaml") : "",
    problems: renderProblems(translation),
    ok: translation.ingresses.every(({ served }) => served),
  };
}

/** Options of both commands, validated. @throws GatewayError `ingress.option` */
export async function translateOptions(command: TranslateCommand): Promise<TranslateOptions> {
  const { class: ingressClass, owner, scheme, port, clusterDomain, sealKey, hosts, externalNames } = command;
  if (owner !== undefined && !isOwner(owner)) throw badOption("--owner", owner, OWNER_EXPECTED);
  if (owner !== undefined && !isOwner(ownerOf(owner, "n".repeat(MAX_NAMESPACE_LENGTH)))) {
    throw badOption("--owner", owner, "must be shorter, so that namespace names fit after it");
  }
  if (scheme !== undefined && scheme !== "https" && scheme !== "http") {
    throw badOption("--scheme", scheme, 'must be "https" or "http"');
  }
  if (port !== undefined && !(/^[0-9]{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
    throw badOption("--port", port, "must be a port from 1 to 65535");
  }
  if (command.plainHttp === true && scheme === "http")
    throw badOption("--scheme", scheme, 'must be "https" with --plain-http');
  return {
    ...(ingressClass === undefined ? {} : { ingressClass }),
    ...(owner === undefined ? {} : { owner }),
    ...(scheme === undefined ? {} : { scheme }),
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(command.plainHttp === true && { plainHttp: true }),
    ...(clusterDomain === undefined ? {} : { clusterDomain }),
    ...(hosts === undefined ? {} : { hosts: readHostList(hosts, await readText(hosts)) }),
    ...(externalNames === undefined ? {} : { externalNames }),
    ...(command.tlsSecrets === false && { ignoreTls: true }),
    ...(sealKey === undefined ? {} : { seal: sealTo(await readText(sealKey), owner) }),
  };
}

/** @param owner of the controller @throws GatewayError `ingress.option` when the text is not a usable public key */
export function sealTo(key: string, owner = DEFAULT_OWNER): Seal {
  const usable = checkSealKey(key);
  if (!usable.ok) throw new GatewayError("ingress.option", `Cannot use the seal key: it ${usable.problem}`);
  return (value, { namespace }) => sealSecret(key, value, ownerOf(owner, namespace));
}

/** @param file "-" is standard input @throws GatewayError `ingress.unreadable` */
export function readText(file: string): Promise<string> {
  return attempting("ingress.unreadable", `Cannot read "${file}"`, () =>
    file === "-" ? text(process.stdin) : readFile(file, "utf8"),
  );
}

function badOption(name: string, value: string, problem: string): GatewayError {
  return new GatewayError("ingress.option", `Cannot use ${name}: it is ${quote(value)}, ${problem}`);
}
