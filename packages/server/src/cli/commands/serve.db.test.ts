import { existsSync, watch } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/database.ts';
import { use } from '../../../test/use.ts';
import type { Finding } from '../../checks/contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { ends, type RunOptions, run, useFolder } from '../testing/run.ts';

const db = use(createTestDatabase, (made) => made.drop(), 'each');
const folder = useFolder();
const serve = (flags: string[], { env, ...options }: RunOptions) => {
  const own = { DATABASE_URL: db.url, SVC_DATA_DIR: folder.path };
  const quiet = { SVC_PORT: '0', SVC_LOG_LEVEL: 'silent' };
  return run(['serve', ...flags], { env: { ...own, ...quiet, ...env }, ...options });
};

/** Starts the service and stops it once it says where its admin token is. Returns all that it said. */
async function start(options: RunOptions = {}, flags: string[] = []) {
  const stop = new AbortController();
  let said = '';
  const onStdout = (text: string) => {
    said += text;
    if (said.includes('Admin token')) stop.abort();
  };
  const { code, stderr } = await serve(flags, { ...options, signal: stop.signal, onStdout });
  expect(said, stderr).toContain('svcctl runs at http://127.0.0.1:');
  expect([0, 130]).toContain(code);
  return said + stderr;
}

test.each([
  ['a first start into a log prints no sign-in link', false, [], false],
  ['a start on a terminal does', true, [], true],
  ['a start that is told to does', false, ['--print-sign-in'], true],
])('%s', async (_name, isTerminal, flags, isPrinted) => {
  const said = await start({ isTerminal }, flags);
  expect(/sign-in[?]code=\w{32}/.test(said)).toBe(isPrinted);
});

test('a data folder keeps to the database of its service, and another one leaves its token', async () => {
  await start();
  const token = await readFile(join(folder.path, 'admin-token'), 'utf8');
  const env = { SVC_DATA_DIR: folder.path };
  const { pathname, host } = new URL(db.url);
  const refusal = ['DATABASE_URL is not set', `uses the database ${pathname.slice(1)} at ${host}`];
  await ends(run(['serve'], { env }), 2, '', [...refusal, 'settings_invalid']);
  await ends(run(['version', '--check-schema'], { env }), 2, '', refusal);
  const make = ['tokens', 'create', '--local', '--name', 'x', '--preset', 'admin'];
  await ends(run(make, { env }), 1, '', ['its DATABASE_URL']);
  const looked = await run(['doctor', '--local', '--json'], { env });
  const found = JSON.parse(looked.stdout).find(({ check }: Finding) => check === 'database');
  expect(found).toMatchObject({ severity: 'problem' });
  for (const text of refusal) expect(found.found).toContain(text);
  expect(existsSync(join(folder.path, 'postgres'))).toBe(false);

  const other = await createTestDatabase();
  const moved: string[] = [];
  const watcher = watch(folder.path, (kind, name) => void moved.push(`${kind} ${name}`));
  try {
    await start({ env: { DATABASE_URL: other.url } });
  } finally {
    watcher.close();
    await other.drop();
  }
  // It was replaced, and so there at any moment: one that is moved away first is told twice.
  expect(moved.filter((one) => one === 'rename admin-token')).toHaveLength(1);
  expect(await readFile(join(folder.path, 'admin-token'), 'utf8')).not.toBe(token);
  const kept = (await readdir(folder.path)).filter((name) => name.startsWith('admin-token.'));
  expect(await Promise.all(kept.map((name) => readFile(join(folder.path, name), 'utf8')))).toEqual([
    token,
  ]);
});

test('a start under systemd tells it where requests are answered', async () => {
  const stop = new AbortController();
  // In place of systemd's program, which this machine may lack: writes down what it was told.
  const told = join(folder.path, 'told');
  const script = `#!/bin/sh\nprintf '%s\\n' "$@" >"$NOTIFY_SOCKET.part"\nmv "$NOTIFY_SOCKET.part" "$NOTIFY_SOCKET"\n`;
  await writeFile(join(folder.path, 'systemd-notify'), script, { mode: 0o755 });
  const env = { NOTIFY_SOCKET: told, PATH: `${folder.path}:${process.env.PATH}` };
  const ended = serve([], { env, signal: stop.signal });
  try {
    await expect.poll(() => existsSync(told), { timeout: 60_000 }).toBe(true);
    const text = await readFile(told, 'utf8');
    const { url } = JSON.parse(await readFile(join(folder.path, 'service.json'), 'utf8'));
    expect(text).toBe(`--ready\n--status=ready at ${url}\n`);
  } finally {
    stop.abort();
    expect([0, 130]).toContain((await ended).code);
  }
});

test('a start that is told to stop while it waits for its database ends with 0', async () => {
  const stop = new AbortController();
  const env = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    SVC_DATA_DIR: join(folder.path, 'data'),
  };
  const ended = serve([], { env, signal: stop.signal });
  await expect.poll(() => existsSync(env.SVC_DATA_DIR)).toBe(true);
  stop.abort(new AppError('interrupted'));
  const { code, stderr } = await ended;
  expect(code, stderr).toBe(0);
});

test.runIf(existsSync('/dev/full'))(
  'a full disk is no wrong setting: the unit starts again',
  async () => {
    // Whatever is written there finds no space left.
    await symlink('/dev/full', join(folder.path, 'database'));
    const said = ['database_full', folder.path, /is full [(][0-9]+ MB free[)]/, 'ENOSPC'];
    await ends(serve([], {}), 5, '', said);
  },
);

test('serve names a setting that is wrong, with exit 2, before it starts anything', async () => {
  await ends(run(['serve'], { env: { SVC_PORTT: '1' } }), 2, [
    'SVC_PORTT: no such setting, SVC_PORT may be meant (settings_invalid)',
  ]);
});
