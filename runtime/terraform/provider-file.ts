/** The provider as one CommonJS file: it starts in half the time of its sources, and a single executable needs it. */
import { access, rename } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("./main.ts", import.meta.url));
/** Location of the file in the published package, relative to its JavaScript in dist/runtime/terraform/. */
const PUBLISHED = fileURLToPath(new URL("../../provider/provider.cjs", import.meta.url));

/** Runs first, since the launcher may find any Node in the path. In syntax that old versions parse. */
const REFUSE_OLD_NODE = `(function () {
  var v = process.versions.node.split(".").map(Number);
  if (v[0] > 24 || (v[0] === 24 && v[1] >= 12)) return;
  console.error("terraform-provider-gateway needs Node 24.12 or newer, " + process.execPath + " is " +
    process.versions.node + "; name a newer one in GATEFORM_NODE");
  process.exit(1);
})();`;

/** Paths of the bundled files, relative to the current directory. */
export type BundledFiles = readonly string[];

/**
 * The provider as a file that Node can run: bundled to `outfile` in a checkout, prebuilt in the published package.
 *
 * @returns its path
 */
export async function findProviderFile(outfile: string): Promise<string> {
  if (!(await exists(SOURCE))) return PUBLISHED;
  // A checkout without its development packages runs the sources.
  return (await writeProviderFile(outfile)) === undefined ? SOURCE : outfile;
}

/** @returns undefined when esbuild is not installed */
export async function writeProviderFile(outfile: string): Promise<BundledFiles | undefined> {
  const esbuild = await import("esbuild").catch(() => undefined);
  if (!esbuild) return undefined;
  const temporary = `${outfile}.${process.pid}`;
  const { metafile } = await esbuild.build({
    entryPoints: [SOURCE],
    outfile: temporary,
    bundle: true,
    minify: true,
    metafile: true,
    platform: "node",
    format: "cjs",
    target: "node24",
    logLevel: "error",
    banner: { js: REFUSE_OLD_NODE },
    // Their licenses are delivered as a file next to the bundle.
    legalComments: "none",
  });
  // Terraform may be starting the old file now.
  await rename(temporary, outfile);
  return Object.keys(metafile.inputs);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
