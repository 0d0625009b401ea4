import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { operationsFolder, readRules, readText } from './testing/operations-files.ts';

const rules = await readRules();

test('the alerts say of each how bad it is and what to do', async () => {
  const sections = (await readText('alerts.md')).match(/^## .*\n\n\*.*$/gm) ?? [];
  expect(sections).toEqual(
    rules.map(({ alert, labels, annotations, ...rule }) => {
      const time = rule.for === '0m' ? 'at once' : `after ${rule.for}`;
      const summary = annotations.summary.replace(' {{ $labels.standby }}', '');
      return `## ${alert}\n\n*${labels.severity}, ${time}*: ${summary}`;
    }),
  );
  for (const { alert, labels, annotations, ...rule } of rules) {
    expect(rule.for).toMatch(/^\d+[mh]$/);
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/^[A-Z].*\.$/);
    expect(annotations.description).toMatch(/^\S.*\.$/);
    expect(annotations.runbook_url).toBe(`docs/operations/alerts.md#${alert.toLowerCase()}`);
  }
});

test('the alerts are right for promtool, where it is installed', async () => {
  const promtool = process.env.SVC_TEST_PROMTOOL ?? 'promtool';
  const file = new URL('alerts.yaml', operationsFolder).pathname;
  const check = promisify(execFile)(promtool, ['check', 'rules', file]).then(
    () => 'right',
    (error: NodeJS.ErrnoException & { stderr?: string }) =>
      // The other one: a folder of PATH that this user may not look into.
      ['ENOENT', 'EACCES'].includes(error.code ?? '') && process.env.SVC_TEST_PROMTOOL === undefined
        ? 'right'
        : `${error.message} ${error.stderr}`,
  );
  expect(await check).toBe('right');
});
