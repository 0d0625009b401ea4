import type { Queryable } from '../../platform/postgres/database.ts';
import type { ClaimedRow } from '../claim.ts';
import { type SecretBox, secretBytes } from '../secret.ts';
import { defaultSchedule } from './outcome.ts';
import { findEndpointConfigs } from './queries.ts';

/** What a drainer must know of an endpoint in order to send to it. */
export type EndpointConfig = {
  /** Changes whenever the endpoint is changed. See `configVersion` in queries.ts. */
  readonly version: number;
  readonly url: string;
  /** Seconds before attempt 2, 3, …; the last entry repeats. */
  readonly schedule: readonly number[];
  /** The secret in plain bytes; null when it cannot be decrypted. */
  readonly secret: Buffer | null;
  /** Secrets that were rotated out and can be decrypted. Each still signs until that time (monotonic milliseconds). */
  readonly previous: readonly { secret: Buffer; until: number }[];
};

/** The secrets that sign at that time, the present one first; null when the present one cannot be decrypted. */
export function secretsAt(config: EndpointConfig, nowMillis: number): Buffer[] | null {
  const { secret, previous } = config;
  if (secret === null) return null;
  return [secret, ...previous.filter(({ until }) => until > nowMillis).map((old) => old.secret)];
}

/** When more endpoints than this are remembered, all are forgotten and looked up again as they are needed. */
const maxRemembered = 10_000;

/** Remembers the URLs and secrets of endpoints, and reads one again only when its endpoint has changed. */
export class EndpointConfigs {
  readonly #known = new Map<string, EndpointConfig>();
  readonly #db: Queryable;
  readonly #secretBox: () => SecretBox;
  readonly #now: () => number;

  constructor(db: Queryable, secretBox: () => SecretBox, now: () => number) {
    this.#db = db;
    this.#secretBox = secretBox;
    this.#now = now;
  }

  /** Makes sure that `get` knows the endpoints of these rows as they were when the rows were claimed. */
  async load(rows: readonly ClaimedRow[]): Promise<void> {
    if (this.#known.size > maxRemembered) this.#known.clear();
    const stale = new Set<string>();
    for (const row of rows) {
      const known = this.#known.get(row.endpoint_id);
      // What could not be decrypted may be by now: the keys of a process change while it runs.
      if (known?.version !== row.config_version || known.secret === null) {
        stale.add(row.endpoint_id);
      }
    }
    if (stale.size === 0) return;
    const box = this.#secretBox();
    for (const row of await findEndpointConfigs(this.#db, [...stale])) {
      const { previous_secrets: previous, previous_secrets_ms: millis } = row;
      this.#known.set(row.id, {
        version: row.config_version,
        url: row.url,
        schedule: row.retry_schedule ?? defaultSchedule,
        secret: unseal(box, row.secret, row.id),
        previous: previous.flatMap((sealed, i) => {
          const secret = unseal(box, sealed, row.id);
          return secret === null ? [] : [{ secret, until: this.#now() + (millis[i] ?? 0) }];
        }),
      });
    }
  }

  get(endpointId: string): EndpointConfig | undefined {
    return this.#known.get(endpointId);
  }
}

/** The secret in plain bytes, or null: one endpoint with an unreadable secret must not stop the others. */
function unseal(box: SecretBox, sealed: Buffer, endpointId: string): Buffer | null {
  try {
    return secretBytes(box.open(sealed, endpointId));
  } catch {
    return null;
  }
}
