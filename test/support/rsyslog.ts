/** Debian's rsyslog as a receiver over TLS: a separate instance on loopback, as the user who runs the tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

import { freePort } from "./ports.ts";

const BINARY = "/usr/sbin/rsyslogd";
const DRIVER = "/usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_gtls.so";

/**
 * The missing program; undefined: it can run.
 *
 * @throws Error instead with GATEWAY_REQUIRE_ALL
 */
export function missingRsyslog(): string | undefined {
  if (existsSync(BINARY) && (process.arch !== "x64" || existsSync(DRIVER))) return undefined;
  const missing = "rsyslog and rsyslog-gnutls are not installed";
  if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(`${missing}, and GATEWAY_REQUIRE_ALL is set`);
  return missing;
}

export interface SyslogMessage {
  readonly priority: number;
  readonly timestamp: string;
  readonly hostname: string;
  readonly appName: string;
  readonly messageId: string;
  readonly structuredData: string;
  readonly message: string;
}

export interface Rsyslog {
  readonly port: number;
  /** Content of its file. */
  messages(): SyslogMessage[];
  kill(): Promise<void>;
}

export interface RsyslogOptions {
  /** For its configuration and what it writes. */
  readonly directory: string;
  readonly caFile: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Name in the certificates of clients that may send. */
  readonly peer: string;
  /** Default: one that is free. */
  readonly port?: number;
}

export async function startRsyslog(options: RsyslogOptions): Promise<Rsyslog> {
  const { directory, caFile, certificateFile, keyFile, peer } = options;
  const port = options.port ?? (await freePort());
  const out = join(directory, "messages");
  const config = join(directory, "rsyslog.conf");
  const fields = ["pri", "timereported:::date-rfc3339", "hostname", "app-name", "msgid", "structured-data", "msg"];
  writeFileSync(
    config,
    `global(workDirectory="${directory}" maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriverCAFile="${caFile}" defaultNetstreamDriverCertFile="${certificateFile}" defaultNetstreamDriverKeyFile="${keyFile}")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="x509/name" permittedPeer=["${peer}"])
input(type="imtcp" port="${port}" address="127.0.0.1")
template(name="fields" type="string" string="${fields.map((field) => `%${field}%`).join("\\t")}\\n")
action(type="omfile" file="${out}" template="fields")
`,
  );
  const child = spawn(BINARY, ["-n", "-f", config, "-i", join(directory, "rsyslog.pid")], { stdio: "ignore" });
  await listening(child, port);
  return {
    port,
    messages: () => (existsSync(out) ? readFileSync(out, "utf8").split("\n").slice(0, -1).map(parse) : []),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

function parse(line: string): SyslogMessage {
  const [priority, timestamp = "", hostname = "", appName = "", messageId = "", structuredData = "", ...rest] =
    line.split("\t");
  return {
    priority: Number(priority),
    timestamp,
    hostname,
    appName,
    messageId,
    structuredData,
    message: rest.join("\t"),
  };
}

/** Resolves once it listens there. @throws Error when it ends before */
async function listening(child: ChildProcess, port: number): Promise<void> {
  while (child.exitCode === null) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`rsyslogd ended with ${child.exitCode} before it listened`);
}
