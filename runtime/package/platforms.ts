/** Platforms of the Terraform provider, by Terraform's names. */
export type Platform = `${"linux" | "darwin" | "windows"}_${"amd64" | "arm64"}`;

export const PLATFORMS: readonly Platform[] = [
  "linux_amd64",
  "linux_arm64",
  "darwin_amd64",
  "darwin_arm64",
  "windows_amd64",
  "windows_arm64",
];

/** The platform of this host. */
export function thisPlatform(): Platform | undefined {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const name = `${system}_${process.arch === "x64" ? "amd64" : process.arch}`;
  return PLATFORMS.find((platform) => platform === name);
}
