/** Colors, type and space of all pages: of users' pages and of the console. Light and dark follow the system. */
export const TOKENS = `
:root {
  color-scheme: light dark;
  /* Surfaces */
  --bg: #f5f6f8; --surface: #fff; --sunk: #eff1f4; --side: #fafbfc;
  --line: #e1e5ea; --line-strong: #c8cfd8; --field: #767f8c;
  /* Text */
  --text: #151a21; --text-2: #48525f; --text-3: #5f6a78;
  /* Accent */
  --accent: #2a55c5; --accent-soft: #e8eefc; --accent-line: #b9caf3; --on-accent: #fff;
  /* States: text and strong marks / soft background / border */
  --good: #146a2e; --good-soft: #e2f4e7; --good-line: #b4dcc0;
  --bad: #b1221b; --bad-soft: #fdebe9; --bad-line: #f0bcb7;
  --warn: #7d4a00; --warn-soft: #fdf1d9; --warn-line: #ecd09a;
  --hold: #6439b0; --hold-soft: #f0eafc; --hold-line: #d3c3f2;
  /* Charts: at least 3:1 on --surface */
  --c-allowed: #6a8ad9; --c-denied: #cb332b; --c-waiting: #b57200; --c-limited: #7b50c8; --c-failed: #27303c;
  --c-1: #2a55c5; --c-2: #b57200; --c-3: #cb332b; --c-fill: #6a8ad9;
  /* Monograms: eight quiet pairs, chosen by the name */
  --m0: #dfe8fb; --m0t: #1f449f; --m1: #def3e6; --m1t: #125a2a; --m2: #fbe9d3; --m2t: #7a4300; --m3: #f9e1e7; --m3t: #95193f;
  --m4: #ece5fa; --m4t: #5730a0; --m5: #d9f0f2; --m5t: #0d565e; --m6: #f0eed2; --m6t: #575008; --m7: #e6e9ee; --m7t: #38424f;
  /* Type */
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace;
  --t-xs: .75rem; --t-s: .8125rem; --t-m: .875rem; --t-l: 1rem; --t-xl: 1.25rem; --t-2xl: 1.625rem;
  /* Space and shape */
  --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem;
  --r1: .375rem; --r2: .625rem; --shadow: 0 1px 2px rgb(16 24 40 / .05); --shadow-2: 0 8px 28px rgb(16 24 40 / .16);
  --side-w: 14.5rem; --row: 2.375rem;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0d1014; --surface: #14181e; --sunk: #1b2028; --side: #0a0c10;
    --line: #252c35; --line-strong: #3a434f; --field: #7f8a98;
    --text: #e7ebf0; --text-2: #b0bac6; --text-3: #919cab;
    --accent: #93b2ff; --accent-soft: #18233f; --accent-line: #33487f; --on-accent: #0a1026;
    --good: #7fd698; --good-soft: #11291a; --good-line: #265a37;
    --bad: #ffa199; --bad-soft: #341a18; --bad-line: #6b302b;
    --warn: #efc064; --warn-soft: #2e230d; --warn-line: #604a1a;
    --hold: #c6abf8; --hold-soft: #241b37; --hold-line: #4b3976;
    --c-allowed: #5877c4; --c-denied: #f0665d; --c-waiting: #d99a2b; --c-limited: #a583ea; --c-failed: #d5dbe3;
    --c-1: #86a8ff; --c-2: #e0a848; --c-3: #f0665d; --c-fill: #5877c4;
    --m0: #1c2a4d; --m0t: #b3c8ff; --m1: #153320; --m1t: #9be3b0; --m2: #3a2812; --m2t: #f3c98f; --m3: #3d1c28; --m3t: #f7b2c5;
    --m4: #2b2145; --m4t: #d0bbfb; --m5: #10333a; --m5t: #93dbe4; --m6: #302e10; --m6t: #ded787; --m7: #262d37; --m7t: #c2cad5;
    --shadow: none; --shadow-2: 0 8px 28px rgb(0 0 0 / .6);
  }
}
`;

/** Letters on a quiet color instead of a logo: `monogram.ts`. */
export const MONOGRAM_STYLE = `
.tile { display: inline-grid; place-items: center; width: 2rem; height: 2rem; flex: none; border-radius: .5rem; font-size: var(--t-s); font-weight: 650; line-height: 1; }
.tile.s { width: 1.5rem; height: 1.5rem; border-radius: .4rem; font-size: .6875rem; } .tile.l { width: 2.75rem; height: 2.75rem; border-radius: .7rem; font-size: var(--t-l); } .tile.round { border-radius: 50%; }
img.tile { object-fit: contain; }
.m0 { background: var(--m0); color: var(--m0t); }
.m1 { background: var(--m1); color: var(--m1t); }
.m2 { background: var(--m2); color: var(--m2t); }
.m3 { background: var(--m3); color: var(--m3t); }
.m4 { background: var(--m4); color: var(--m4t); }
.m5 { background: var(--m5); color: var(--m5t); }
.m6 { background: var(--m6); color: var(--m6t); }
.m7 { background: var(--m7); color: var(--m7t); }
@media (forced-colors: active) { .tile { border: 1px solid CanvasText; } }
`;
