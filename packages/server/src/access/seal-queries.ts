import sql, { empty } from 'sql-template-tag';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { type AuditChain, readAuditChain } from './audit-queries.ts';

/** What a seal says of the chain, and by which key. Hashes are hex. */
export type Seal = {
  readonly key_id: string;
  readonly since: number;
  readonly pruned_place: number;
  readonly pruned_hash: string;
  readonly place: number;
  readonly hash: string;
  readonly mac: Buffer;
};

/** Reads both ends of the chain and its seal; `lock` keeps others from sealing until the transaction ends. */
export async function readSealed(
  db: Queryable,
  { lock = false } = {},
): Promise<{ chain: AuditChain; seal: Seal | undefined }> {
  const [seal] = await db.query<Seal>(sql`
    select key_id, since, pruned_place, encode(pruned_hash, 'hex') as pruned_hash, place,
      encode(hash, 'hex') as hash, mac
    from audit_seals ${lock ? sql`for update` : empty}`);
  return { chain: await readAuditChain(db), seal };
}

/** Keeps the chain from growing and from being pruned until the transaction ends. */
export async function lockChain(db: Queryable): Promise<void> {
  await db.query(sql`select from audit_chain for update`);
}

/** The hash of a place, in hex; null when no link has it any more. */
export async function findHash(db: Queryable, place: number): Promise<string | null> {
  const [row] = await db.query<{ hash: string }>(sql`
    select encode(hash, 'hex') as hash from audit_links where place = ${place}
    union all
    select encode(pruned_hash, 'hex') from audit_chain where pruned_place = ${place} limit 1`);
  return row?.hash ?? null;
}

export async function insertSeal(db: Queryable, seal: Seal): Promise<void> {
  await db.query(sql`
    insert into audit_seals (key_id, since, pruned_place, pruned_hash, place, hash, mac)
    values (${seal.key_id}, ${seal.since}, ${seal.pruned_place}, decode(${seal.pruned_hash}, 'hex'),
      ${seal.place}, decode(${seal.hash}, 'hex'), ${seal.mac})`);
}

/** Replaces a seal by another one, unless somebody has done so meanwhile: then false. */
export async function replaceSeal(db: Queryable, old: Seal, seal: Seal): Promise<boolean> {
  const rows = await db.query(sql`
    update audit_seals set key_id = ${seal.key_id}, since = ${seal.since}, place = ${seal.place},
      pruned_place = ${seal.pruned_place}, pruned_hash = decode(${seal.pruned_hash}, 'hex'),
      hash = decode(${seal.hash}, 'hex'), mac = ${seal.mac}
    where mac = ${old.mac} returning key_id`);
  return rows.length > 0;
}

export async function deleteSeal(db: Queryable): Promise<void> {
  await db.query(sql`delete from audit_seals`);
}

/** Names the database among all others, by the number of its server and its own there. */
export async function findLogId(db: Queryable): Promise<string> {
  const rows = await db.query<{ id: string }>(sql`
    select concat(system_identifier, '-',
      (select oid from pg_database where datname = current_database())) as id
    from pg_control_system()`);
  return onlyRow(rows).id;
}
