import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { useFolder } from '../../packages/server/test/folder.ts';
import { ownCommand, useInstallation, useService } from '../lib/installation.ts';
import { webhookSettings } from '../lib/webhooks.ts';

// The commands of docs/tasks.md, as they stand there and in their order, print what stands behind them.

const run = promisify(execFile);
const doc = await readFile(new URL('../../docs/tasks.md', import.meta.url), 'utf8');

/** Each block of commands, what it prints, and the task that it belongs to. */
const blocks = doc
  .split(/^## /m)
  .flatMap((task) =>
    [...task.matchAll(/^```sh\n([\s\S]*?)^```\n\n```\n([\s\S]*?)^```$/gm)].map(
      ([, commands = '', output = '']) => ({ task: task.split('\n', 1)[0], commands, output }),
    ),
  );
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);

const folder = useFolder('once');
const installation = useInstallation();
const service = useService(installation, webhookSettings);
beforeAll(async () => {
  await mkdir(join(folder.path, 'bin'));
  const program = join(folder.path, 'bin', 'svcctl');
  await writeFile(program, `#!/bin/sh\nexec ${ownCommand().join(' ')} "$@"\n`);
  await chmod(program, 0o755);
});

test('each block of commands has what it prints behind it', () => {
  expect(blocks).toHaveLength(doc.match(/^```sh$/gm)?.length ?? 0);
  if (!hasCurl) process.stderr.write('curl is not there, so its calls are not run.\n');
});

test.each(blocks)('$task', { timeout: 60_000 }, async ({ commands, output }) => {
  if (commands.includes('curl ') && !hasCurl) return;
  const { stdout } = await run('sh', ['-euc', `exec 2>&1\n${commands}`], {
    cwd: folder.path,
    env: {
      ...process.env,
      PATH: `${join(folder.path, 'bin')}:${process.env.PATH}`,
      SVC_URL: new URL(service.url).origin,
      SVC_TOKEN: service.token,
    },
  });
  expect(stdout.trimEnd()).toMatch(patternOf(output.trimEnd()));
});

/** What fits a text in which `…` stands for anything. */
function patternOf(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*?')}$`);
}
