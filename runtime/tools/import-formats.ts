/** Output formats of an import. */
export const IMPORT_FORMATS = ["typescript", "hcl", "bundle"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
