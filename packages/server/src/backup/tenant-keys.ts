import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';
import { randomText } from '../kernel/ids.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { SavedKey, SavedKeys } from './manifest.ts';
import { makePlaceFolder, type Place, putText, readText } from './place.ts';
import { listEndedKeys, listTenants } from './queries.ts';
import { type FindKey, type FrameKey, idOf } from './seal.ts';

/** The keys by which a backup encrypts. */
export type TenantKeys = {
  /**
   * Has those be used from now on that belong to what this connection sees. A tenant that was erased whole has another
   * key for what came afterwards, so no race with an erasure encrypts anything by the wrong one.
   */
  begin(db: Queryable): Promise<void>;
  /** The key of a tenant, made where there is none; null for what belongs to none of them. */
  of(tenant: string | null): Promise<FrameKey | null>;
  readonly find: FindKey;
  /**
   * Whether each key of a former backup that is current by its name is the one that is used now. A database that was set
   * back does not know of an erasure: under the same name it has made another key.
   */
  areKept(former: SavedKeys): Promise<boolean>;
  /** What the manifest says. Throws `backup_busy` where another backup has written another key in the place of one. */
  settle(): Promise<SavedKeys>;
};

type Tools = { readonly place: Place; readonly spoolDir: string; readonly signal: AbortSignal };

const atOnce = 8;

/**
 * Opens the place of keys for a backup. `former` is what the newest backup says of its keys: they must be here, but for
 * those that an erasure has removed, so that no other key is made for what would be taken for saved. Throws
 * `backup_keys_unusable`.
 */
export async function openTenantKeys(
  tools: Tools & { readonly db: Queryable },
  former: SavedKeys | undefined,
): Promise<TenantKeys> {
  const { place, db, signal } = tools;
  const placeId = await findPlaceId(place, former, signal);
  let ended = new Map<string, string>();
  const known = new Map<string, Promise<SavedKey & FrameKey>>();
  const { opened } = former === undefined ? noKeys() : await readKeys(place, former, signal);
  const formerIds = new Map(former?.tenants.map(({ name, id }) => [name, id]));
  const made: SavedKey[] = [];

  async function take(tenant: string, name: string): Promise<SavedKey & FrameKey> {
    const bytes =
      opened.get(formerIds.get(name) ?? '') ??
      (await readKey(place, name, signal)) ??
      (await make(tenant, name));
    const id = idOf(bytes);
    opened.set(id, bytes);
    return { tenant, name, id, bytes };
  }

  /** Two copies of a database may do this at the same moment: what is read back is used, and looked at in the end. */
  async function make(tenant: string, name: string): Promise<Buffer> {
    const text = `svcctl-backup-key ${randomBytes(32).toString('hex')}`;
    // A key is written in its own place alone: what a kill leaves of it lies in no backup.
    const spoolDir = (await makePlaceFolder(place)) ?? tools.spoolDir;
    await putText(place, { key: name, text: `${text} ${digestOf(text)}\n` }, { spoolDir, signal });
    const bytes = await readKey(place, name, signal);
    if (bytes === null) throw unusable(`${place.location} does not keep what is written there.`);
    made.push({ tenant, name, id: idOf(bytes) });
    // An erasure that was committed since the snapshot may have removed its key before this one came to lie there.
    const endedSince = (await listEndedKeys(db)).get(tenant);
    if (endedSince !== undefined && keyName(tenant, endedSince) !== name) {
      await removeKeys({ place, spoolDir }, { tenant, ended: endedSince }, signal);
    }
    return bytes;
  }

  const of = (tenant: string) => {
    const name = keyName(tenant, ended.get(tenant));
    const key = known.get(name) ?? take(tenant, name);
    known.set(name, key);
    return key;
  };
  const isCurrent = ({ tenant, name }: SavedKey) => keyName(tenant, ended.get(tenant)) === name;
  return {
    async begin(connection) {
      ended = await listEndedKeys(connection);
      await sideBySide(await listTenants(connection), { atOnce, signal }, of);
    },
    async of(tenant) {
      return tenant === null || tenant === '' || tenant === '*' ? null : of(tenant);
    },
    find: (id) => opened.get(id) ?? null,
    async areKept({ tenants }) {
      for (const key of tenants.filter(isCurrent)) {
        if ((await of(key.tenant)).id !== key.id) return false;
      }
      return true;
    },
    async settle() {
      for (const { name, id } of made) {
        const now = await readKey(place, name, signal);
        if (now === null || idOf(now) === id) continue;
        throw new AppError('backup_busy', {
          detail: `Another backup has made keys in ${place.location} at the same moment. Run the same command again.`,
        });
      }
      const keys = (await Promise.all(known.values())).filter(isCurrent);
      keys.sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
      return {
        place: placeId,
        tenants: keys.map(({ tenant, name, id }) => ({ tenant, name, id })),
      };
    },
  };
}

/** Keys as they lie here now: what can be read, by its id, and those that are not here any more, `lost` or removed. */
type FoundKeys = {
  readonly opened: Map<string, Buffer>;
  readonly gone: readonly SavedKey[];
  readonly lost: readonly SavedKey[];
};

const noKeys = (): FoundKeys => ({ opened: new Map(), gone: [], lost: [] });

/**
 * Finds the keys of a backup. Those that an erasure has removed are `gone`. Throws `backup_keys_unusable` where others
 * are not here or are damaged, unless `skipsLost`, with which they are `gone` as well.
 */
export async function readKeys(
  place: Place,
  saved: SavedKeys,
  signal: AbortSignal,
  { skipsLost }: { skipsLost: boolean } = { skipsLost: false },
): Promise<FoundKeys> {
  if ((await place.marker.read(signal)) !== saved.place) throw otherPlace(place);
  const { opened } = noKeys();
  const lost: SavedKey[] = [];
  await sideBySide(saved.tenants, { atOnce, signal }, async (key, own) => {
    const bytes = await readKey(place, key.name, own).catch((error: unknown) => {
      if (skipsLost && error instanceof DamagedKey) return null;
      throw error;
    });
    if (bytes !== null && idOf(bytes) === key.id) opened.set(key.id, bytes);
    else if (!(await isRemoved(place, key, own))) lost.push(key);
  });
  if (lost.length > 0 && !skipsLost) throw lostKeys(place, lost);
  return { opened, lost, gone: saved.tenants.filter(({ id }) => !opened.has(id)) };
}

/** How what a backup encrypted is read: null for what belongs to a tenant whose key is gone. */
export function finder({ opened, gone }: Pick<FoundKeys, 'opened' | 'gone'>): FindKey {
  const goneIds = new Set(gone.map(({ id }) => id));
  return (id) => {
    if (goneIds.has(id)) return null;
    const bytes = opened.get(id);
    if (bytes === undefined)
      throw unusable('Rows are encrypted by a key that the backup does not name.');
    return bytes;
  };
}

/**
 * Removes the keys of a tenant for what came before an erasure, `ended` as `listEndedKeys` tells it; also those that a
 * copy of the database has made. First it notes that they are removed, by which a lost key is told from them. False:
 * there is no place of keys, or its disk is not mounted.
 */
export async function removeKeys(
  { place, spoolDir }: { place: Place; spoolDir: string },
  { tenant, ended }: { tenant: string; ended: string },
  signal: AbortSignal,
): Promise<boolean> {
  if ((await place.marker.read(signal)) === null) return false;
  const key = noteName(tenant, ended);
  const text = 'svcctl-backup-key removed for an erasure\n';
  await putText(
    place,
    { key, text },
    { spoolDir: (await makePlaceFolder(place)) ?? spoolDir, signal },
  );
  for await (const { key } of place.list(folderOf(tenant), signal)) {
    if (key < keyName(tenant, ended)) await place.remove(key, signal);
  }
  return true;
}

/** Whether an erasure has removed this key, or is about to. */
async function isRemoved(place: Place, { tenant, name }: SavedKey, signal: AbortSignal) {
  for await (const { key } of place.list(noteName(tenant, ''), signal)) {
    if (key.slice(noteFolder.length) > name.slice(keyFolder.length)) return true;
  }
  return false;
}

/** Nobody can tell from its name whose key it is, unless the name of the tenant is guessed. */
const hashOf = (tenant: string) => createHash('sha256').update(tenant).digest('hex');
const [keyFolder, noteFolder] = ['keys/', 'removed/'];
const folderOf = (tenant: string) => `${keyFolder}${hashOf(tenant)}/`;
const keyName = (tenant: string, ended = '') => `${folderOf(tenant)}${ended.padStart(20, '0')}`;
const noteName = (tenant: string, ended: string) =>
  `${noteFolder}${hashOf(tenant)}/${ended === '' ? '' : ended.padStart(20, '0')}`;
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

async function findPlaceId(
  place: Place,
  former: SavedKeys | undefined,
  signal: AbortSignal,
): Promise<string> {
  const found = await place.marker.read(signal);
  if (former !== undefined && found !== former.place) throw otherPlace(place);
  if (found !== null) return found;
  await place.marker.swap(null, `keys-${randomText(16)}`, signal);
  const made = await place.marker.read(signal);
  if (made === null) throw unusable(`${place.location} does not keep what is written there.`);
  return made;
}

async function readKey(place: Place, name: string, signal: AbortSignal): Promise<Buffer | null> {
  const text = await readText(place, name, signal);
  if (text === null) return null;
  const [, told, hex = '', digest] = /^(\S+ ([0-9a-f]{64})) (\S+)\n$/.exec(text) ?? [];
  if (told === undefined || digestOf(told) !== digest) {
    throw new DamagedKey(place, name);
  }
  return Buffer.from(hex, 'hex');
}

function otherPlace({ location }: Place): AppError {
  return unusable(
    `The keys of the backup do not lie in ${location}: another disk is mounted there, or none, or SVC_BACKUP_KEYS names another place than before.`,
  );
}

function lostKeys({ location }: Place, lost: readonly SavedKey[]): AppError {
  const tenants = lost.map(({ tenant }) => tenant).sort();
  const named = tenants.slice(0, 5).join(', ') + (tenants.length > 5 ? ', …' : '');
  return unusable(
    `The keys of ${tenants.length} tenants (${named}) are not in ${location}, and no erasure has removed them: put them back from a copy. Where there is none, restore the rest with --skip-damaged, and back up into a new place.`,
  );
}

export function unusable(what: string): AppError {
  return new AppError('backup_keys_unusable', { detail: detailOf(what) });
}

const detailOf = (what: string) => `${what} Nothing was changed.`;

class DamagedKey extends AppError {
  constructor({ location }: Place, name: string) {
    const detail = detailOf(`${name} in ${location} is damaged. Put it back from a copy.`);
    super('backup_keys_unusable', { detail });
  }
}
