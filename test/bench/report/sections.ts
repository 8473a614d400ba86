/** What a report is made of: sections with tables and plots, and the figures they were made from. */
export interface Table {
  readonly caption?: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly name: string;
  readonly title: string;
  /** How it was measured and how to read it; a paragraph each. */
  readonly about: readonly string[];
  readonly tables: readonly Table[];
  /** SVG. */
  readonly plots: readonly string[];
  /** For report.json. */
  readonly figures: unknown;
}

export interface ReportOptions {
  readonly rounds: number;
  readonly durationMs: number;
  readonly connections: number;
  /** Fewer points, and shorter ones. */
  readonly isQuick: boolean;
  /** Told what is being measured. */
  readonly progress: (what: string) => void;
  /** Said once, and part of the report. */
  readonly say: (line: string) => void;
}

/** Its own colour in every plot. */
export const COLOUR_OF: Readonly<Record<string, number>> = {
  gateway: 1,
  nginx: 0,
  "haproxy-jwt": 2,
  "apache-oidc": 3,
  fastify: 4,
  caddy: 5,
  bare: 6,
  upstream: 6,
};

export function fixed(value: number, digits = 1): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "–";
}
