import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import type { Service } from '../lib/installation.ts';
import { runRetention } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';
import { expectAccessible } from './lib/axe.ts';
import { drawerOf, hashOf, patient, recordRows, useConsole } from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

// Nobody works on exports and versions, so that these jobs stay as they were asked for.
const filled = useConsole(() => startFilled({ ...quietRetention, SVC_ROLES: 'api,retention' }));

let ids: Awaited<ReturnType<typeof makeJobs>>;
let analyst: string;
beforeAll(async () => {
  ids = await makeJobs(filled.service);
  const body = { name: 'analyst', scopes: ['analytics:read'] };
  analyst = (await filled.service.call('POST', '/tokens', { body })).json.token;
});

/** Makes a job of each kind; the run, the verification and the retry end, the other two stay open. */
async function makeJobs(service: Service) {
  const idOf = async (path: string, body: object): Promise<string> => {
    const headers = { prefer: 'respond-async' };
    const answer = await service.call('POST', path, { body, headers });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json.id;
  };
  await idOf('/enrichment/tags', { tenant: 'TX', dataset: 'training' });
  await runRetention(service, { tenant: 'CA' });
  const made = {
    run: (await service.call('GET', '/retention/runs?limit=1')).json.data[0].id as string,
    verification: await idOf('/retention/verify', { tenant: 'CA' }),
    retry: await idOf('/webhook/dlq/retry', { tenant: 'nobody' }),
    version: await idOf('/enrichment/dataset-versions', {
      tenant: 'TX',
      dataset: 'training',
      name: 'spring',
    }),
    export: await idOf('/exports/csv', { tenant: 'TX' }),
    unwanted: await idOf('/exports/csv', { tenant: 'CA' }),
  };
  await waitFor('three jobs to end', async () => {
    const { json } = await service.call('GET', '/jobs?state=completed');
    return json.data.length === 3;
  });
  return made;
}

const keysOf = (page: Page) =>
  recordRows(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key')));
const expectKeys = (page: Page, keys: readonly (string | undefined)[]) =>
  expect.poll(() => keysOf(page), patient).toEqual(keys);

test('lists the jobs of all kinds, and filters them in the address', async () => {
  const page = await filled.open('/');
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'JOBS' }).click();
  const { retry, verification, run, version, unwanted } = ids;
  await expectKeys(page, [unwanted, ids.export, version, retry, verification, run]);
  const row = recordRows(page).filter({ hasText: 'TX.csv' });
  await row.getByText('queued', { exact: true }).waitFor();
  await row.getByText('first admin', { exact: true }).waitFor();
  await page.getByLabel('State').selectOption('completed');
  await expectKeys(page, [retry, verification, run]);
  await page.getByLabel('Kind').selectOption('bulk retry');
  await expectKeys(page, [retry]);
  expect(hashOf(page)).toBe('#/jobs?kind=retry&state=completed');
  await page.getByLabel('State').selectOption('failed');
  await page.getByRole('heading', { name: 'No jobs with these filters' }).waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await page.getByLabel('Tenant, exactly').fill('TX');
  await expectKeys(page, [ids.export, version]);
});

test('opens a job of each kind, with its command and the way to its own place', async () => {
  const page = await filled.openList('/jobs');
  for (const [kind, summary, command, link, place] of [
    [
      'run',
      /^Moves and deletes old days of CA: /,
      'show',
      'ITS MOVES',
      '#/retention?view=journal&run=',
    ],
    [
      'verification',
      /^Checks the cold data of CA: no problems/,
      'show',
      'ITS REPORT',
      '#/retention?panel=verification/',
    ],
    ['retry', /^Re-arms the failed deliveries of nobody/, 'show', 'WEBHOOK DLQ', '#/dlq'],
    [
      'version',
      /^Counts .* of the version spring/,
      'wait',
      'THE VERSION',
      '#/records?tenant=TX&view=versions&panel=version/',
    ],
    ['export', /^Exports records of TX to TX.csv/, 'wait', 'ITS FILE', '#/exports?panel=export/'],
  ] as const) {
    const id = ids[kind];
    await page.locator(`tr[data-key="${id}"]`).press('Enter');
    const drawer = drawerOf(page);
    await drawer.getByRole('heading', { name: id }).waitFor();
    expect(hashOf(page)).toBe(`#/jobs?panel=job/${id}`);
    await drawer.getByText(summary).waitFor();
    await drawer.getByText(`svcctl jobs ${command} ${id}`, { exact: true }).waitFor();
    const href = await drawer.getByRole('link', { name: link }).getAttribute('href');
    expect(decodeURIComponent(href ?? '')).toBe(kind === 'retry' ? place : `${place}${id}`);
    const isCancellable = await drawer.getByRole('button', { name: 'CANCEL' }).count();
    expect(isCancellable, kind).toBe(kind === 'export' ? 1 : 0);
  }
  await drawerOf(page).getByRole('link', { name: 'ITS FILE' }).click();
  await page.getByRole('heading', { name: 'EXPORTS', level: 1 }).waitFor();
  await page.goBack();
  await drawerOf(page).getByText(`svcctl jobs wait ${ids.export}`).waitFor();
});

test('cancels a job after a question, for those who may', async () => {
  const reader = await filled.open(`/jobs?panel=job/${ids.unwanted}`, { token: analyst });
  await expectKeys(reader, [ids.unwanted, ids.export]);
  await drawerOf(reader).getByRole('link', { name: 'ITS FILE' }).waitFor();
  expect(await drawerOf(reader).getByRole('button', { name: 'CANCEL' }).count()).toBe(0);

  const page = await filled.open(`/jobs?panel=job/${ids.unwanted}`);
  const ask = drawerOf(page).getByRole('button', { name: 'CANCEL' });
  const question = page.getByRole('dialog', { name: 'Cancel this export?' });
  const stateOf = async () =>
    (await filled.service.call('GET', `/jobs/${ids.unwanted}`)).json.state as string;
  await ask.click();
  await question.getByText('Nothing of its file is kept.').waitFor();
  await question.getByRole('button', { name: 'Keep it' }).click();
  await question.waitFor({ state: 'detached' });
  expect(await stateOf()).toBe('queued');
  await ask.click();
  await question.getByRole('button', { name: 'Cancel it' }).click();
  await page.getByText(`Cancelled ${ids.unwanted}`).waitFor();
  await drawerOf(page).getByText('stopped before its end').waitFor();
  expect(await ask.count()).toBe(0);
  expect(await stateOf()).toBe('cancelled');
});

test('says why a job failed, for what another one waits, and that one found faults', async () => {
  const page = await filled.openBlank();
  const { json: job } = await filled.service.call('GET', `/jobs/${ids.run}`);
  let told = { ...job, state: 'failed', error: 'The segment of 2001-02-03 is damaged.' };
  await page.route(`**/api/v1/jobs/${ids.run}`, (route) => route.fulfill({ json: told }));
  await filled.openIn(page, `/jobs?panel=job/${ids.run}`);
  await drawerOf(page).getByText('could not be finished').waitFor();
  await drawerOf(page).getByRole('alert').getByText(told.error).waitFor();
  told = { ...job, state: 'waiting', requested_by: null, error: 'The store does not answer.' };
  await page.reload();
  await drawerOf(page).getByText('goes on by itself').waitFor();
  await drawerOf(page).getByRole('alert').getByText(told.error).waitFor();
  await drawerOf(page).getByText('the schedule', { exact: true }).waitFor();
  told = { ...job, has_faults: true };
  await page.reload();
  await drawerOf(page).getByText('done to its end, but not all of it is right').waitFor();
});

test('tells a token that may read no kind of jobs which it would need', async () => {
  const body = { name: 'pipeline', preset: 'pipeline' };
  const { token } = (await filled.service.call('POST', '/tokens', { body })).json;
  const page = await filled.open('/jobs', { token });
  await page.getByRole('heading', { name: 'This token may not see any jobs' }).waitFor();
  await page.getByText('A token with analytics:read sees exports').waitFor();
});

test(
  'gives axe nothing to find, and keeps to the width',
  async () => {
    const page = await filled.openBlank();
    await filled.openIn(page, '/jobs');
    const command = drawerOf(page).getByText(`svcctl jobs wait ${ids.export}`);
    await expectAccessible(
      page,
      [
        ['/jobs', recordRows(page)],
        [`/jobs?panel=job/${ids.export}`, command],
      ],
      [1440, 1024, 390],
    );
  },
  patient.timeout * 2,
);
