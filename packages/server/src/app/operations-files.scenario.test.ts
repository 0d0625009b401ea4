import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { checkOf } from '../checks/examine.ts';
import type { TroubleKind } from '../checks/values.ts';
import { operationsFolder, readRules, readText } from './testing/operations-files.ts';

const rules = await readRules();

test('the alerts say of each how bad it is and what to do', async () => {
  const headings = (await readText('alerts.md')).match(/^## .*$/gm) ?? [];
  expect(headings).toEqual(rules.map(({ alert }) => `## ${alert}`));
  for (const { alert, labels, annotations, ...rule } of rules) {
    expect(rule.for).toMatch(/^\d+[mh]$/);
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/^[A-Z].*\.$/);
    expect(annotations.description).toMatch(/^\S.*\.$/);
    expect(annotations.runbook_url).toBe(`docs/operations/alerts.md#${alert.toLowerCase()}`);
  }
});

test('the alerts are as bad as the notices of the same troubles', () => {
  const kinds: Partial<Record<string, TroubleKind>> = {
    ...{
      SvcctlStoreUnusable: 'store_unusable',
      SvcctlVerificationDiffers: 'verification_differs',
    },
    ...{ SvcctlEndpointsFailing: 'endpoints_failing', SvcctlEndpointsGone: 'endpoints_gone' },
    ...{ SvcctlRunFailed: 'run_failed', SvcctlVerificationFailed: 'verification_failed' },
    ...{ SvcctlDeliveriesAbandoned: 'deliveries_abandoned' },
    ...{ SvcctlDiskNearlyFull: 'disk_nearly_full', SvcctlBackupOverdue: 'backup_overdue' },
  };
  const compared = rules.flatMap(({ alert, labels }) => {
    const kind = kinds[alert];
    return kind === undefined ? [] : [[alert, labels.severity, checkOf(kind).severity]];
  });
  expect(compared).toHaveLength(Object.keys(kinds).length);
  expect(compared.filter(([, one, other]) => one !== other)).toEqual([]);
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
