/** What a configuration can be imported as. */
export const IMPORT_FORMATS = ["typescript", "hcl", "bundle"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
