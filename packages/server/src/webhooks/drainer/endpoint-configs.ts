import type { Queryable } from '../../platform/postgres/database.ts';
import { type SecretBox, secretBytes } from '../secret.ts';
import { defaultSchedule } from './outcome.ts';
import { type ClaimedRow, findEndpointConfigs } from './queries.ts';

/** What it takes to send to an endpoint. */
export type EndpointConfig = {
  readonly version: number;
  readonly url: string;
  readonly schedule: readonly number[];
  /** null: it cannot be decrypted. */
  readonly secret: Buffer | null;
  /** Those before it that can be read, still signed with until then (monotonic milliseconds). */
  readonly previous: readonly { secret: Buffer; until: number }[];
};

/** What signs at that time; null when the secret cannot be read. */
export function secretsAt(config: EndpointConfig, nowMillis: number): Buffer[] | null {
  const { secret, previous } = config;
  if (secret === null) return null;
  return [secret, ...previous.filter(({ until }) => until > nowMillis).map((old) => old.secret)];
}

const maxRemembered = 10_000;

/** The endpoints' URLs and secrets, looked up again only when an endpoint has changed. */
export class EndpointConfigs {
  private readonly known = new Map<string, EndpointConfig>();
  private readonly db: Queryable;
  private readonly secretBox: () => SecretBox;
  private readonly now: () => number;

  constructor(db: Queryable, secretBox: () => SecretBox, now: () => number) {
    this.db = db;
    this.secretBox = secretBox;
    this.now = now;
  }

  /** Makes sure that `get` answers for these rows as their endpoints were when they were claimed. */
  async load(rows: readonly ClaimedRow[]): Promise<void> {
    if (this.known.size > maxRemembered) this.known.clear();
    const stale = new Set<string>();
    for (const row of rows) {
      if (this.known.get(row.endpoint_id)?.version !== row.config_version) {
        stale.add(row.endpoint_id);
      }
    }
    if (stale.size === 0) return;
    const box = this.secretBox();
    for (const row of await findEndpointConfigs(this.db, [...stale])) {
      const { previous_secrets: previous, previous_secrets_ms: millis } = row;
      this.known.set(row.id, {
        version: row.config_version,
        url: row.url,
        schedule: row.retry_schedule ?? defaultSchedule,
        secret: unseal(box, row.secret),
        previous: previous.flatMap((sealed, i) => {
          const secret = unseal(box, sealed);
          return secret === null ? [] : [{ secret, until: this.now() + (millis[i] ?? 0) }];
        }),
      });
    }
  }

  get(endpointId: string): EndpointConfig | undefined {
    return this.known.get(endpointId);
  }
}

function unseal(box: SecretBox, sealed: Buffer): Buffer | null {
  try {
    return secretBytes(box.open(sealed));
  } catch {
    return null;
  }
}
