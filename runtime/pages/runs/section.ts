/** The portal's part about agent runs that are pending the user's decision. */
import { html, type Html } from "../html.ts";
import { drawnIcon } from "../icons.ts";
import { time } from "../time.ts";

export interface PendingRunView {
  readonly href: string;
  readonly workload: string;
  readonly purpose: string;
  readonly asked: Date;
}

/** @returns undefined when there are none */
export function pendingRunsSection(runs: readonly PendingRunView[]): Html | undefined {
  if (runs.length === 0) return undefined;
  return html`<section class="card" aria-labelledby="pending-runs">
    <header>
      <h2 id="pending-runs">Agent runs pending your approval</h2>
      <span class="badge warn">${runs.length}</span>
    </header>
    <ul class="rows">
      ${runs.map(
        ({ href, workload, purpose, asked }) =>
          html`<li>
            <span class="mark warn">${drawnIcon("clock")}</span>
            <div>
              <h3>
                <a href="${href}"><bdi>${workload}</bdi></a>
              </h3>
              <p class="dim"><bdi>${purpose}</bdi>, requested ${time(asked)}.</p>
            </div>
            <a class="button" href="${href}"
              >Review<span class="hidden"> the run of <bdi>${workload}</bdi></span></a
            >
          </li>`,
      )}
    </ul>
  </section>`;
}
