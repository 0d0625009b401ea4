import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/database.ts';
import { AppError } from '../../kernel/errors.ts';
import { newFolder, run } from '../testing/run.ts';

test.each([
  ['a first start into a log prints no sign-in link', false, [], false],
  ['a start on a terminal does', true, [], true],
  ['a start that is told to does', false, ['--print-sign-in'], true],
])('%s', async (_name, isTerminal, flags, isPrinted) => {
  const db = await createTestDatabase();
  const dataDir = await newFolder();
  const stop = new AbortController();
  let said = '';
  try {
    const { code, stderr } = await run(['serve', ...flags], {
      env: { DATABASE_URL: db.url, SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_LOG_LEVEL: 'silent' },
      isTerminal,
      signal: stop.signal,
      onStdout: (text) => {
        said += text;
        if (said.includes('Admin token')) stop.abort();
      },
    });
    expect(said, stderr).toContain('svcctl runs at http://127.0.0.1:');
    expect([0, 130]).toContain(code);
    expect(/sign-in[?]code=\w{32}/.test(said + stderr)).toBe(isPrinted);
  } finally {
    await db.drop();
    await rm(dataDir, { recursive: true });
  }
});

test('a start under systemd tells it where requests are answered', async () => {
  const db = await createTestDatabase();
  const dataDir = await newFolder();
  const stop = new AbortController();
  // In place of systemd's program, which this machine may lack: writes down what it was told.
  const told = join(dataDir, 'told');
  const script = `#!/bin/sh\nprintf '%s\\n' "$@" >"$NOTIFY_SOCKET.part"\nmv "$NOTIFY_SOCKET.part" "$NOTIFY_SOCKET"\n`;
  await writeFile(join(dataDir, 'systemd-notify'), script, { mode: 0o755 });
  try {
    const ended = run(['serve'], {
      env: {
        ...{ DATABASE_URL: db.url, SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_LOG_LEVEL: 'silent' },
        ...{ NOTIFY_SOCKET: told, PATH: `${dataDir}:${process.env.PATH}` },
      },
      signal: stop.signal,
    });
    await expect.poll(() => existsSync(told), { timeout: 60_000 }).toBe(true);
    const text = await readFile(told, 'utf8');
    const { url } = JSON.parse(await readFile(join(dataDir, 'service.json'), 'utf8'));
    expect(text).toBe(`--ready\n--status=ready at ${url}\n`);
    stop.abort();
    expect([0, 130]).toContain((await ended).code);
  } finally {
    stop.abort();
    await db.drop();
    await rm(dataDir, { recursive: true });
  }
});

test('a start that is told to stop while it waits for its database ends with 0', async () => {
  const dataDir = await newFolder();
  const stop = new AbortController();
  const ended = run(['serve'], {
    env: {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
    },
    signal: stop.signal,
  });
  await expect.poll(() => existsSync(dataDir)).toBe(true);
  stop.abort(new AppError('interrupted'));
  const { code, stderr } = await ended;
  expect(code, stderr).toBe(0);
  await rm(dataDir, { recursive: true });
});
