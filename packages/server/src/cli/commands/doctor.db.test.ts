import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import type { Finding } from '../../checks/contract.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json, problem } from '../testing/receiver.ts';
import { ends, run, useFolder } from '../testing/run.ts';

const { api, cli } = prepareCli();
const db = useTestDatabase();
const folder = useFolder('once');
// The command loads it when it looks for itself, which is to take no test's time.
beforeAll(() => import('../../app.ts'));

const nothing = { remedy: null, id: null, command: null };
const well: Finding = {
  ...nothing,
  check: 'roles',
  name: 'roles',
  severity: 'ok',
  found: 'all is taken',
};
const warning: Finding = {
  ...nothing,
  check: 'clocks',
  name: 'clocks',
  severity: 'warning',
  found: 'a clock is off',
  remedy: 'Set it.',
  id: 'one:1',
  command: 'svcctl ps',
};
const bad: Finding = {
  ...nothing,
  check: 'disks',
  name: 'disk_nearly_full',
  severity: 'problem',
  found: 'a disk is full',
  remedy: 'Make room.',
  id: 'one',
};
const answer = (findings: Finding[]) => json({ at: '2026-03-05T11:00:00.000000Z', findings });

test('doctor tells what is wrong and what to do, and ends with 1 for a problem', async () => {
  api.on('GET /doctor', answer([well, warning]));
  const warned = await cli('doctor', { isTerminal: true });
  expect(warned).toMatchObject({ code: 0 });
  expect(warned.stdout).toContain('! warning · clocks: a clock is off · one:1 · svcctl ps\n');
  expect(warned.stdout).toContain('Set it.');
  expect(warned.stdout).not.toContain('all is taken');
  expect(warned.stderr).toContain('0 problems · 1 warning · 1 well');
  api.on('GET /doctor', answer([well, bad]));
  await ends(
    cli('doctor --all'),
    1,
    'ok\troles\tall is taken\t\t\t\nproblem\tdisks\ta disk is full\tMake room.\tone\t\n',
    ['(problems_found)'],
  );
  const piped = await cli('doctor --json check,severity');
  expect(piped.code).toBe(1);
  expect(JSON.parse(piped.stdout)).toEqual([
    { check: 'roles', severity: 'ok' },
    { check: 'disks', severity: 'problem' },
  ]);
});

const findings = ({ stdout }: { stdout: string }): Finding[] => JSON.parse(stdout);
const severityOf = (all: Finding[], check: string) =>
  all.find((finding) => finding.check === check)?.severity;

test('doctor looks for itself when no service answers', async () => {
  api.on('GET /doctor', problem(503, 'database_unavailable', 'The database does not answer.'));
  const env = { DATABASE_URL: db.url, SVC_DATA_DIR: folder.path };
  const looked = await cli('doctor --json', { env });
  expect(looked.code).toBe(1);
  const all = findings(looked);
  expect(all[0]).toMatchObject({ check: 'service', found: 'The database does not answer.' });
  // Its process answers: it is neither to be ended nor started a second time.
  expect(all[0]).toMatchObject({ remedy: expect.stringMatching(/^It runs/), command: null });
  expect(severityOf(all, 'database')).toBe('ok');
  expect(severityOf(all, 'schema')).toBe('ok');
  expect(severityOf(all, 'counters')).toBe('ok');
  // Nobody is at work there.
  expect(severityOf(all, 'roles')).toBe('problem');
});

test('doctor looks for itself when the service says nothing, and tells so', async () => {
  api.on('GET /me', () => new Promise(() => {}));
  api.on('GET /doctor', answer([well]));
  const env = { DATABASE_URL: db.url, SVC_DATA_DIR: folder.path };
  const looked = await cli('doctor --json', { env, timeouts: { answerMillis: 200 } });
  expect(looked.code).toBe(1);
  const all = findings(looked);
  expect(all[0]?.found).toContain('no answer within 0.2 s. Its process may be frozen');
  expect(all[0]?.remedy).toContain('kill -9 loses nothing');
  expect(severityOf(all, 'schema')).toBe('ok');
});

test('doctor --local tells settings, a folder and a database that cannot be used', async () => {
  const local = (env: Record<string, string>) => run(['doctor', '--local', '--json'], { env });
  const mistyped = await local({ SVC_PROT: '1' });
  expect(findings(mistyped)).toMatchObject([{ check: 'own_settings', severity: 'problem' }]);
  const away = new URL(db.url);
  away.port = '1';
  const lost = findings(
    await local({ DATABASE_URL: away.href, SVC_DATA_DIR: join(folder.path, 'nothing') }),
  );
  expect(severityOf(lost, 'data_folder')).toBe('problem');
  expect(severityOf(lost, 'own_disk')).toBe('unchecked');
  expect(severityOf(lost, 'database')).toBe('problem');
  const own = await local({ SVC_DATA_DIR: folder.path });
  expect(own.code).toBe(0);
  expect(severityOf(findings(own), 'database')).toBe('unchecked');
});
