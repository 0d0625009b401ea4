import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  consoleRules,
  findFolderCycles,
  findForbiddenImports,
  findUnnamedTests,
  findUnusedExports,
} from './import-rules.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'import-rules-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Answers the faults of a project with this one file, which imports these paths. */
function faultsOf(file, text, rules) {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return findForbiddenImports(folder, rules);
}

test.each([
  ['kernel/ids.ts', '../config/settings.ts'],
  ['kernel/ids.ts', '../platform/log.ts'],
  ['kernel/ids.ts', '../records/contract.ts'],
  ['config/settings.ts', '../platform/log.ts'],
  ['config/settings.ts', '../contract.ts'],
  ['platform/http/server.ts', '../../access/index.ts'],
  ['platform/http/server.ts', '../../records/contract.ts'],
  ['platform/http/server.ts', '../../config/settings.ts'],
  ['records/contract.ts', './slice.ts'],
  ['records/contract.ts', '../platform/http/server.ts'],
  ['platform/http/schemas.contract.ts', './validate.ts'],
  ['contract.ts', './records/index.ts'],
  ['contract.ts', 'fastify'],
  ['records/values.ts', './contract.ts'],
  ['records/values.ts', '../platform/http/schemas.contract.ts'],
  ['records/values.ts', './slice.ts'],
  ['records/values.ts', 'typebox'],
  ['kernel/values.ts', '../records/values.ts'],
  ['records/view.ts', './contract.ts'],
  ['records/view.ts', 'commander'],
  ['platform/http/server.ts', '../../records/values.ts'],
  ['access/tokens.ts', '../records/index.ts'],
  ['access/tokens.ts', '../config/settings.ts'],
  ['records/pages.ts', '../exports/index.ts'],
  ['records/ingest/stream.ts', '../../access/tokens.ts'],
  ['exports/csv.ts', '../records/queries.ts'],
  ['exports/csv.ts', '../retention/index.ts'],
  ['retention/mover.ts', '../records/queries.ts'],
  ['retention/mover.ts', '../records/index.ts'],
  ['exports/csv.ts', '../records/segments.ts'],
  ['retention/mover.ts', '../exports/index.ts'],
  ['webhooks/send.ts', '../records/index.ts'],
  ['webhooks/send.ts', '../cli/io.ts'],
  ['cli/io.ts', '../platform/log.ts'],
  ['cli/commands/records/ls.ts', '../../../records/index.ts'],
  ['records/pages.ts', '../app.ts'],
  ['app.ts', '../test/database.ts'],
])('%s may not import %s', (file, specifier) => {
  expect(faultsOf(file, `import { a } from '${specifier}';\n`)).toEqual([
    expect.stringMatching(`^${file}:1 may not import `),
  ]);
});

test.each([
  ['kernel/ids.ts', './errors.ts'],
  ['kernel/ids.ts', 'node:crypto'],
  ['config/settings.ts', '../kernel/errors.ts'],
  ['platform/http/server.ts', '../log.ts'],
  ['platform/http/server.ts', './contract.ts'],
  ['records/contract.ts', '../platform/http/schemas.contract.ts'],
  ['records/contract.ts', '../kernel/actor.ts'],
  ['records/contract.ts', 'typebox'],
  ['contract.ts', './records/contract.ts'],
  ['records/contract.ts', './values.ts'],
  ['exports/values.ts', '../records/values.ts'],
  ['exports/values.ts', '../kernel/values.ts'],
  ['exports/csv.ts', '../records/values.ts'],
  ['cli/io.ts', '../records/values.ts'],
  ['access/tokens.ts', '../platform/postgres/database.ts'],
  ['webhooks/send.ts', '../records/contract.ts'],
  ['exports/csv.ts', '../records/index.ts'],
  ['retention/mover.ts', '../records/segments.ts'],
  ['cli/io.ts', '../contract.ts'],
  ['cli/io.ts', '../config/settings.ts'],
  ['app.ts', './records/pages.ts'],
  ['records/pages.test.ts', '../../test/database.ts'],
  ['kernel/ids.test.ts', '../app.ts'],
])('%s may import %s', (file, specifier) => {
  expect(faultsOf(file, `import { a } from '${specifier}';\n`)).toEqual([]);
});

test.each([
  ["import '../app.ts';"],
  ["import type { A } from '../app.ts';"],
  ["import {\n  a,\n  b,\n} from '../app.ts';"],
  ["export { a } from '../app.ts';"],
  ["export * from '../app.ts';"],
  ["const a = 1;\nimport b from '../app.ts';"],
  ["const a = await import('../app.ts');"],
  ["type A = import('../app.ts').A;"],
])('%j is seen', (text) => {
  expect(faultsOf('records/pages.ts', text)).toHaveLength(1);
});

test.each([
  ["// import { a } from '../app.ts';"],
  ["/**\n * import('../app.ts')\n */"],
  ["const text = 'taken from ../app.ts';"],
])('%j is not taken for an import', (text) => {
  expect(faultsOf('records/pages.ts', text)).toEqual([]);
});

test('the command line may import app.ts, but only by a dynamic import', () => {
  expect(faultsOf('cli/serve.ts', "const { a } = await import('../app.ts');")).toEqual([]);
  expect(faultsOf('cli/serve.ts', "\nimport { a } from '../app.ts';")).toEqual([
    'cli/serve.ts:2 may import app.ts only by await import()',
  ]);
});

test('an import whose path is computed is refused', () => {
  expect(faultsOf('cli/serve.ts', 'await import(path);')).toEqual([
    'cli/serve.ts:1 imports what cannot be checked: name it in quotes',
  ]);
});

test('a file outside the folders that have rules is refused', () => {
  expect(faultsOf('helpers/text.ts', '')).toEqual([
    'helpers/text.ts is in no row of the import rules',
  ]);
});

test.each([
  ["import type { A } from '../../../server/src/contract.ts';"],
  ["export type { A } from '../../../server/src/records/contract.ts';"],
  ["export type {\n  A,\n  B,\n} from '../../../server/src/contract.ts';"],
  ["export * from '../../../server/src/records/values.ts';"],
  ["import { levels } from '../../../server/src/kernel/values.ts';"],
  ["export { JsonItems } from '../../../server/src/kernel/json-items.ts';"],
  ["import { a } from './client.ts';"],
  ["import 'react';"],
])('the console may say %j', (text) => {
  expect(faultsOf('api/types.ts', text, consoleRules)).toEqual([]);
});

test.each([
  ["import type { A } from '../../../server/src/kernel/actor.ts';"],
  ["import type { A } from '../../../server/src/records/queries.ts';"],
  ["import { a } from '../../../server/src/cli/format.ts';"],
  ["import { a } from '../../../server/src/retention/tenants/policy-values.ts';"],
  ["import { a } from '../../dist/a.js';"],
])('the console may not say %j', (text) => {
  expect(faultsOf('api/types.tsx', text, consoleRules)).toHaveLength(1);
});

test.each([
  ["import { levels } from '../../../server/src/contract.ts';"],
  ["import { type A } from '../../../server/src/contract.ts';"],
  ["export * from '../../../server/src/contract.ts';"],
  ["await import('../../../server/src/contract.ts');"],
])('of a contract the console may only take types, not %j', (text) => {
  expect(faultsOf('api/types.ts', text, consoleRules)).toEqual([
    'api/types.ts:1 may import ../../server/src/contract.ts only by import type',
  ]);
});

test.each([
  ['ui/list.tsx', '../frame/pages.ts'],
  ['ui/list.tsx', '../records/search.ts'],
  ['api/client.ts', '../ui/format.ts'],
  ['records/export/panel.tsx', '../../exports/use-exports.ts'],
  ['records/page.tsx', '../frame/session.tsx'],
  ['exports/page.tsx', '../records/search.ts'],
  ['retention/page.tsx', '../frame/session.tsx'],
  ['webhooks/dlq/page.tsx', '../../retention/words.ts'],
  ['ui/list.tsx', '../main.tsx'],
  ['ui/list.tsx', '../../../server/src/records/values.ts'],
])('of the console, %s may not import %s', (file, specifier) => {
  expect(faultsOf(file, `import { a } from '${specifier}';\n`, consoleRules)).toEqual([
    expect.stringMatching(`^${file}:1 may not import `),
  ]);
});

test.each([
  ['main.tsx', './frame/routes.tsx'],
  ['frame/routes.tsx', '../records/page.tsx'],
  ['frame/palette.tsx', '../ui/format.ts'],
  ['records/export/panel.tsx', '../search.ts'],
  ['records/page.tsx', '../ui/list.tsx'],
  ['exports/page.tsx', '../api/types.ts'],
  ['ui/list.tsx', '../api/types.ts'],
  ['records/page.test.ts', '../exports/search.ts'],
])('of the console, %s may import %s', (file, specifier) => {
  expect(faultsOf(file, `import { a } from '${specifier}';\n`, consoleRules)).toEqual([]);
});

test('a file of the console outside its folders is refused', () => {
  expect(faultsOf('helpers/text.ts', '', consoleRules)).toEqual([
    'helpers/text.ts is in no row of the import rules',
  ]);
});

/** Answers the folder cycles among files; each file is given with its imports. */
function cyclesOf(files) {
  for (const [file, specifiers] of Object.entries(files)) {
    faultsOf(file, specifiers.map((specifier) => `import '${specifier}';\n`).join(''));
  }
  return findFolderCycles(folder);
}

test('folders that need each other are refused, whichever files of theirs do', () => {
  expect(
    cyclesOf({
      'records/read/pages.ts': ['../tags/windows.ts'],
      'records/tags/sums.ts': ['../facts/tally.ts'],
      'records/tags/windows.ts': [],
      'records/facts/tally.ts': ['../read/scan.ts'],
      'records/read/scan.ts': [],
    }),
  ).toEqual([
    'records/ has a cycle facts → read → tags → facts: ' +
      'records/facts/tally.ts imports records/read/scan.ts, ' +
      'records/read/pages.ts imports records/tags/windows.ts, ' +
      'records/tags/sums.ts imports records/facts/tally.ts',
  ]);
});

test('a file that a folder needs may not need that folder', () => {
  expect(
    cyclesOf({
      'webhooks/options.ts': ['./drainer/wake-up.ts'],
      'webhooks/drainer/wake-up.ts': [],
      'webhooks/drainer/drainer.ts': ['../options.ts'],
    }),
  ).toEqual([expect.stringContaining('webhooks/ has a cycle drainer → options.ts → drainer: ')]);
});

test('a cycle stands where it closes, between features as well as deep below one', () => {
  expect(
    cyclesOf({
      'exports/encode/a/rows.ts': ['../b/cells.ts'],
      'exports/encode/b/cells.ts': ['../a/rows.ts'],
      'retention/store.ts': ['../exports/encode/a/rows.ts'],
      'exports/jobs.ts': ['../retention/store.ts'],
    }),
  ).toEqual([
    expect.stringContaining('exports/encode/ has a cycle a → b → a'),
    expect.stringContaining(' has a cycle exports → retention → exports'),
  ]);
});

test.each([
  { 'a/x.ts': ['../b/y.ts'], 'b/y.ts': ['../c.ts'], 'c.ts': [] },
  { 'a/x.ts': ['./y.ts', '../b/z.ts'], 'a/y.ts': [], 'b/z.ts': [] },
  { 'a/x.ts': ['../b/y.ts'], 'b/y.test.ts': ['../a/x.ts'], 'b/y.ts': [] },
  { 'a/x.ts': ['../b/y.ts'], 'b/testing/y.ts': ['../../a/x.ts'], 'b/y.ts': [] },
  { 'a/x.ts': ['../../../server/src/contract.ts'], 'contract.ts': ['./a/x.ts'] },
])('%j has no cycle', (files) => {
  expect(cyclesOf(files)).toEqual([]);
});

test('a test bears the name of a source or folder, or says scenario', () => {
  const tested = ['access/tokens.ts', 'access/words.tsx', 'access/verify/run.ts'];
  const found = [
    ...['access/tokens.test.ts', 'access/tokens.expiry.db.test.ts', 'access/words.test.tsx'],
    ...['access/verify.test.ts', 'access/access.db.test.ts', 'access/proxy.scenario.db.test.ts'],
  ];
  const lost = ['access/expiry.test.ts', 'access/scenario.test.ts', 'access/verify/tokens.test.ts'];
  for (const file of [...tested, ...found, ...lost]) faultsOf(file, '');
  expect(findUnnamedTests(folder)).toEqual(
    lost.map((file) => expect.stringContaining(`${file} is named after no source or folder`)),
  );
});

test('what a file exports is named by another one', () => {
  writeFileSync(join(folder, 'a.ts'), 'export const used = 1;\nexport type Own = typeof own;\n');
  writeFileSync(join(folder, 'b.ts'), "import { used } from './a.ts';\n");
  expect(findUnusedExports(folder, [folder])).toEqual([
    'a.ts exports Own, which no other file has',
  ]);
});
