import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { startEmbeddedPostgres } from '../../packages/server/src/platform/postgres/embedded.ts';

type Row = Readonly<Record<string, unknown>>;
type View = { leaves: Row[]; ids: string[]; csv: string };

/** What a client of the earlier release was answered; see make.mjs. */
export type Expected = {
  readonly views: Readonly<Record<string, View>>;
  readonly secrets: Readonly<Record<string, { id: string; secrets: string[] }>>;
  readonly tokens: Readonly<Record<string, string>>;
} & Readonly<
  Record<
    | 'tags'
    | 'versions'
    | 'exports'
    | 'policies'
    | 'moves'
    | 'incidents'
    | 'deliveries'
    | 'endpoints'
    | 'pending'
    | 'abandoned',
    readonly Row[]
  >
>;

const fixtures = fileURLToPath(new URL('../upgrade/', import.meta.url));

/** Makes of a data folder with a cluster in it what the earlier release had left; answers what it told its clients. */
export async function restoreRelease(name: string, dataDir: string): Promise<Expected> {
  const folder = join(fixtures, name);
  await cp(join(folder, 'files'), dataDir, { recursive: true });
  const postgres = await startEmbeddedPostgres({ dataDir, fsync: false, log: () => {} });
  await inDatabase(postgres.url, 'postgres', async (client) => {
    await client.query('drop database svcctl with (force)');
    await client.query('create database svcctl');
  });
  await inDatabase(postgres.url, 'svcctl', async (client) => {
    await load(client, gunzipSync(await readFile(join(folder, 'tables.sql.gz'))).toString());
    // The release has only just been stopped: no key has run out, and no attempt has become due.
    await client.query('update incident_keys set created_at = now()');
    await client.query(
      `update deliveries set next_attempt_at = now() + interval '1 day' where status = 'pending'`,
    );
  });
  await postgres.stop();
  return JSON.parse(gunzipSync(await readFile(join(folder, 'expected.json.gz'))).toString());
}

async function inDatabase(
  url: string,
  name: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const place = new URL(url);
  place.pathname = `/${name}`;
  const client = new pg.Client({
    connectionString: place.href,
    application_name: `svcctl:${process.pid}`,
  });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Carries out SQL as pg_dump writes it: statements, and rows after a line `copy … from stdin;`. */
async function load(client: pg.Client, text: string): Promise<void> {
  for (const piece of text.split(/^(?=copy .* from stdin;$)/m)) {
    if (!piece.startsWith('copy ')) {
      await client.query(piece);
      continue;
    }
    const head = piece.indexOf('\n');
    const end = piece.indexOf('\\.\n', head);
    const rows = piece.slice(head + 1, end);
    await pipeline([rows], client.query(copyFrom(piece.slice(0, head))));
    await client.query(piece.slice(end + 3));
  }
}
