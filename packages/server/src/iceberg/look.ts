import { createGate } from '../kernel/gate.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import type { Connection, Database } from '../platform/postgres/database.ts';
import type { LivedFile, TenantHistory } from './history.ts';
import type { SnapshotRow } from './metadata.ts';
import type { ManifestRow, Scope, ToldFile } from './queries.ts';
import * as queries from './queries.ts';

/** The catalogue at one moment, beside what readers were last told of it. Times are in microseconds since 1970. */
export type Look = {
  readonly moment: number;
  readonly newest: SnapshotRow | undefined;
  /** All that the newest snapshot names. */
  readonly manifests: readonly ManifestRow[];
  /** The first time of which a load tells, and the one up to which nothing can be told apart. */
  readonly since: number;
  readonly horizon: number;
  /** The tenants of which there may be something to tell. */
  readonly tenants: readonly TenantLook[];
};

type TenantLook = TenantHistory & {
  readonly fingerprint: string;
  readonly told: readonly ToldFile[];
};

/** So many switches are told one by one at most, beside all that were before. */
export const mostSwitches = 100;
/** Older switches are not told apart, however long objects are kept: the journal may have lost some of them. */
const mostSeconds = 86_400;

/** Everything is read in one transaction, so that the newest snapshot is of one moment. */
export async function look(
  { db, graceSeconds }: { db: Database; graceSeconds: number },
  scope: Scope,
): Promise<Look> {
  return db.transaction(
    async (connection) => {
      const moment = await queries.readMoment(connection);
      const since = moment - Math.min(graceSeconds, mostSeconds) * 1_000_000;
      const limit = mostSwitches + 1;
      const switches = await queries.listSwitches(connection, scope, { since, limit });
      const fingerprints = await queries.listFingerprints(connection, scope);
      const manifests = await queries.listManifests(connection, scope);
      const [newest] = await queries.listSnapshots(connection, scope, 1);
      const now = new Map(fingerprints.map((row) => [row.tenant, row.fingerprint]));
      const before = new Map(manifests.map((row) => [row.tenant, row.fingerprint]));
      const changed = [...now.keys(), ...before.keys()].filter(
        (tenant) => (now.get(tenant) ?? '') !== (before.get(tenant) ?? ''),
      );
      // A tenant may have again what it had before, as after a move and a deletion.
      const recent = switches.filter(({ at }) => at > (newest?.id ?? 0));
      const names = [...new Set([...changed, ...recent.map(({ tenant }) => tenant)])];
      const { files, horizon } = await listLived(connection, names, {
        since: switches.length < limit ? since : (switches.at(-1)?.at ?? since),
        switches: switches.filter(({ tenant }) => names.includes(tenant)),
      });
      const rows = await queries.listToldFiles(connection, scope, names);
      const told = new Map(rows.map((row) => [row.tenant, row.files]));
      const tenants = names.map((tenant) => ({
        tenant,
        fingerprint: now.get(tenant) ?? '',
        files: files.get(tenant) ?? [],
        told: told.get(tenant) ?? [],
      }));
      return { moment, newest, manifests, since, horizon, tenants };
    },
    { isolation: 'repeatable read' },
  );
}

/**
 * Lists by tenant what is live, and what these switches replaced. Before one of which nothing was noted, or whose objects
 * go, the catalogue said what nobody can read any more: the last such is the horizon.
 */
async function listLived(
  connection: Connection,
  tenants: readonly string[],
  { since, switches }: { since: number; switches: readonly queries.Switch[] },
): Promise<{ files: ReadonlyMap<string, readonly LivedFile[]>; horizon: number }> {
  let horizon = since;
  const files = new Map<string, LivedFile[]>(tenants.map((tenant) => [tenant, []]));
  for (const file of await queries.listFiles(connection, tenants)) {
    files.get(file.tenant)?.push({ ...file, died: Number.POSITIVE_INFINITY });
  }
  const times = new Map(switches.map(({ id, at }) => [id, at]));
  for (const replaced of await queries.listReplaced(connection, switches)) {
    const { move_id: move, held, is_kept: isKept, ...file } = replaced;
    const died = times.get(move) ?? 0;
    if (held === null || !isKept) horizon = Math.max(horizon, died);
    else files.get(file.tenant)?.push({ ...file, ...held, died });
  }
  return { files, horizon };
}

/** So many objects are asked for or written at once. */
export const objectsAtOnce = 16;

/** Whoever was told nothing yet may have the database of a backup, which brings no objects that nothing refers to. */
export async function findHorizon(
  store: ObjectStore,
  { newest, horizon, tenants }: Look,
  signal: AbortSignal,
): Promise<number> {
  if (newest !== undefined) return horizon;
  const gate = createGate(objectsAtOnce);
  const gone = tenants
    .flatMap(({ files }) => files)
    .filter(({ died }) => died > horizon && died !== Number.POSITIVE_INFINITY);
  const missing = await Promise.all(
    gone.map(({ object_key: key, died }) =>
      gate.run(async () => ((await store.head(key, signal)) === null ? died : horizon)),
    ),
  );
  return missing.reduce((last, died) => Math.max(last, died), horizon);
}
