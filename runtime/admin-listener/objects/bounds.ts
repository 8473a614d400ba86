/** Address and bounds of the admin API, which its document states. */
export const API = "/api/v1";

export const BOUNDS = {
  bodyBytes: 16_384,
  pathCharacters: 4096,
  idBytes: 1000,
  valueCharacters: 2048,
  reasonCharacters: 500,
  defaultLimit: 50,
  limit: 200,
} as const;
