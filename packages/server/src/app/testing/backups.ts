import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestService } from '../../../test/service.ts';
import type { Manifest } from '../../backup/index.ts';
import { loadSettings } from '../../config/settings.ts';
import { createLog } from '../../platform/log.ts';
import type { BackUpOptions, BackupTools } from '../backup.ts';

/** What the commands about backups need, with these settings. */
export function toolsFor(env: Record<string, string>): BackupTools {
  return {
    settings: loadSettings(env),
    log: createLog('silent'),
    signal: new AbortController().signal,
    cwd: tmpdir(),
    release: '0.1.0',
    onStep: () => {},
    onWarning: () => {},
  };
}

/** The options of a backup to a place, all of them off unless given. */
export function optionsFor(out: string, more: Partial<BackUpOptions> = {}): BackUpOptions {
  const none = { isIncremental: false, passphrase: null, isVerified: false, keep: null };
  return { out, ...none, allowsMissing: false, ...more };
}

/** Stores records of the tenants T and U, whose texts hold what COPY and JSON escape. */
export async function ingest(
  service: TestService,
  { month, count, text = month }: { month: string; count: number; text?: string },
): Promise<void> {
  const records = Array.from({ length: count }, (_, n) => ({
    tenant: n % 3 === 0 ? 'T' : 'U',
    store: 'A',
    event_id: `${text}\\-${n}`,
    occurred_at: `${month}-0${(n % 7) + 1}T00:00:00.${n + 1}Z`,
    kind: n % 2 === 0 ? '\\N' : null,
    confidence: 0.5,
    enrichment: { n, text: `${text}\t\\ \n"é"` },
  }));
  const { json } = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(json.accepted).toBe(count);
}

/** Moves the days before one into segments. */
export async function untilMoved(service: TestService, before: string): Promise<void> {
  expect(await service.retain({ before })).toMatchObject({ state: 'completed' });
}

/** Where the manifest of a backup lies in a folder that has those of one database. */
export async function manifestPath(place: string, id: string): Promise<string> {
  const [database = ''] = await readdir(join(place, 'backups'));
  return join(place, 'backups', database, id, 'manifest.json');
}

export async function manifestOf(place: string, id: string): Promise<Manifest> {
  return JSON.parse(await readFile(await manifestPath(place, id), 'utf8')).backup;
}
