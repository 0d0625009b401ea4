import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/database.ts';
import { use } from '../../../test/use.ts';
import { AppError } from '../../kernel/errors.ts';
import { ends, type RunOptions, run, useFolder } from '../testing/run.ts';

const db = use(createTestDatabase, (made) => made.drop(), 'each');
const folder = useFolder();
const serve = (flags: string[], { env, ...options }: RunOptions) => {
  const own = { DATABASE_URL: db.url, SVC_DATA_DIR: folder.path };
  const quiet = { SVC_PORT: '0', SVC_LOG_LEVEL: 'silent' };
  return run(['serve', ...flags], { env: { ...own, ...quiet, ...env }, ...options });
};

test.each([
  ['a first start into a log prints no sign-in link', false, [], false],
  ['a start on a terminal does', true, [], true],
  ['a start that is told to does', false, ['--print-sign-in'], true],
])('%s', async (_name, isTerminal, flags, isPrinted) => {
  const stop = new AbortController();
  let said = '';
  const onStdout = (text: string) => {
    said += text;
    if (said.includes('Admin token')) stop.abort();
  };
  const { code, stderr } = await serve(flags, { isTerminal, signal: stop.signal, onStdout });
  expect(said, stderr).toContain('svcctl runs at http://127.0.0.1:');
  expect([0, 130]).toContain(code);
  expect(/sign-in[?]code=\w{32}/.test(said + stderr)).toBe(isPrinted);
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

test('serve names a setting that is wrong, with exit 2, before it starts anything', async () => {
  await ends(run(['serve'], { env: { SVC_PORTT: '1' } }), 2, [
    'SVC_PORTT: no such setting, SVC_PORT may be meant (settings_invalid)',
  ]);
});
