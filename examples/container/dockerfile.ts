/**
 * Runs the steps of a Dockerfile in a scratch directory: each stage is a folder, and absolute paths are below it. Enough
 * for this example's file; it says so where it meets something else.
 */
import { spawn } from "node:child_process";
import { copyFile, cp, lchown, lstat, mkdir, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

export interface Instruction {
  readonly name: string;
  /** What stands behind the name, on one line. */
  readonly text: string;
}

export interface Stage {
  readonly name: string | undefined;
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

/** What the last stage says of the running container. */
export interface Image {
  /** The stage's folder: "/" of the container. */
  readonly root: string;
  readonly user: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  readonly volumes: readonly string[];
}

export async function readDockerfile(file: string): Promise<readonly Stage[]> {
  const text = (await readFile(file, "utf8")).replaceAll(/^#.*\n/gm, "").replaceAll("\\\n", " ");
  const stages: { name: string | undefined; base: string; instructions: Instruction[] }[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    const from = /^(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?$/.exec(rest);
    if (name === "FROM" && from?.[1] !== undefined) stages.push({ name: from[2], base: from[1], instructions: [] });
    else if (name !== "" && stages.length > 0) stages.at(-1)?.instructions.push({ name, text: rest.trim() });
    else throw new Error(`Cannot read this line of the Dockerfile: ${line}`);
  }
  return stages;
}

export interface BuildOptions {
  /** What COPY copies from. */
  readonly context: string;
  /** Gets a folder for each stage. */
  readonly scratch: string;
  /** Called around each RUN, with its command. */
  readonly step: (command: string, run: () => Promise<void>) => Promise<unknown>;
}

/** @returns the last stage */
export async function buildStages(stages: readonly Stage[], options: BuildOptions): Promise<Image> {
  const roots = new Map<string, string>();
  let image: Image | undefined;
  for (const [index, stage] of stages.entries()) {
    const root = join(options.scratch, stage.name ?? `stage-${index}`);
    if (stage.name !== undefined) roots.set(stage.name, root);
    // The base image, as far as it matters: Node.
    await mkdir(join(root, "usr/local/bin"), { recursive: true });
    await copyFile(process.execPath, join(root, "usr/local/bin/node"));
    image = await buildStage(stage, root, roots, options);
  }
  if (!image) throw new Error("The Dockerfile has no stage");
  return image;
}

async function buildStage(
  stage: Stage,
  root: string,
  roots: ReadonlyMap<string, string>,
  options: BuildOptions,
): Promise<Image> {
  const environment: Record<string, string> = {};
  const volumes: string[] = [];
  let directory = root;
  let user = "root";
  let entrypoint: readonly string[] = [];
  let command: readonly string[] = [];
  let healthcheck: readonly string[] = [];
  for (const { name, text } of stage.instructions) {
    switch (name) {
      case "WORKDIR":
        directory = join(root, text);
        await mkdir(directory, { recursive: true });
        break;
      case "COPY":
        await copy(text, { root, directory }, roots, options.context);
        break;
      case "RUN":
        await options.step(text, () => run(text, directory, root, environment));
        break;
      case "ENV": {
        const at = text.indexOf("=");
        environment[text.slice(0, at)] = text.slice(at + 1);
        break;
      }
      case "USER":
        user = text;
        break;
      case "VOLUME":
        volumes.push(text);
        break;
      case "ENTRYPOINT":
        entrypoint = JSON.parse(text) as string[];
        break;
      case "CMD":
        command = JSON.parse(text) as string[];
        break;
      case "HEALTHCHECK":
        healthcheck = JSON.parse(text.slice(text.indexOf("["))) as string[];
        break;
      case "EXPOSE":
        break;
      default:
        throw new Error(`Cannot run "${name}" of the Dockerfile: this runner does not know it`);
    }
  }
  return { root, user, environment, entrypoint, command, healthcheck, volumes };
}

async function copy(
  text: string,
  here: { readonly root: string; readonly directory: string },
  roots: ReadonlyMap<string, string>,
  context: string,
): Promise<void> {
  const words = text.split(/\s+/);
  const options = new Map<string, string>();
  for (;;) {
    const [whole, name, value] = /^--(from|chown)=(\S+)$/.exec(words[0] ?? "") ?? [];
    if (whole === undefined || name === undefined || value === undefined) break;
    options.set(name, value);
    words.shift();
  }
  const stage = options.get("from");
  const from = stage === undefined ? context : roots.get(stage);
  const target = words.pop();
  if (from === undefined || target === undefined) throw new Error(`Cannot copy "${text}": there is no such stage`);
  const place = target.startsWith("/") ? join(here.root, target) : join(here.directory, target);
  for (const source of words) {
    const to = target.endsWith("/") ? join(place, basename(source)) : place;
    await cp(join(from, source), to, { recursive: true, verbatimSymlinks: true });
    const owner = options.get("chown");
    if (owner !== undefined) await giveTo(owner, to);
  }
}

/** Only root can; whoever else runs this owns all of it anyway. */
async function giveTo(owner: string, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const [uid = Number.NaN, gid = Number.NaN] = owner.split(":").map(Number);
  const entries = (await lstat(path)).isDirectory() ? await readdir(path, { recursive: true }) : [];
  for (const entry of ["", ...entries]) await lchown(join(path, entry), uid, gid);
}

function run(command: string, cwd: string, root: string, environment: Readonly<Record<string, string>>): Promise<void> {
  const path = `${join(root, "usr/local/bin")}:${process.env["PATH"] ?? ""}`;
  const env = { ...process.env, ...environment, PATH: path, npm_config_prefer_offline: "true" };
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(output.slice(-2_000)))));
  });
}
