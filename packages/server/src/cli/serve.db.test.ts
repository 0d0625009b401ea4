import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { newFolder, run } from './testing/run.ts';

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
        if (said.includes('Ctrl-C stops it.')) stop.abort();
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
