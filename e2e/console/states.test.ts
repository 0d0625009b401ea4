import type { Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Service } from '../lib/installation.ts';
import { drawerOf, hashOf, recordRows, signIn, treeNode, useConsole } from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';

const filled = useConsole(startFilled);

async function makeToken(service: Service, fields: Record<string, unknown>): Promise<string> {
  const answer = await service.call('POST', '/tokens', { body: { name: 'narrow', ...fields } });
  expect(answer.status, answer.text).toBe(201);
  return answer.json.token;
}

/** Answers every request for data with 429 while it is on. */
async function limitRate(page: Page): Promise<{ turn(isOn: boolean): void }> {
  let isOn = false;
  const problem = {
    type: 'about:blank',
    title: 'Too many requests',
    status: 429,
    code: 'rate_limited',
    detail: 'This token makes too many requests. Wait 7 s.',
    request_id: 'req-e2e',
  };
  const refusal = {
    status: 429,
    contentType: 'application/problem+json',
    headers: { 'retry-after': '7' },
    body: JSON.stringify(problem),
  };
  await page.route('**/api/v1/enrichment/**', (route: Route) =>
    isOn ? route.fulfill(refusal) : route.continue(),
  );
  return {
    turn(next) {
      isOn = next;
    },
  };
}

test('tells a token without the scope what it needs, and lets another one in at the same place', async () => {
  const page = await filled.openBlank();
  const token = await makeToken(filled.service, { preset: 'pipeline' });
  await page.goto(`/#${bigLeaf}`);
  await signIn(page, token);
  await page.getByRole('heading', { name: 'This page needs the scope enrichment:read' }).waitFor();
  const told = await page.locator('#page').innerText();
  expect(told).toContain('narrow');
  expect(told).toContain('enrichment:write, incidents:write');
  expect(told).toContain('svcctl tokens create --name NAME --preset support-readonly');

  await page.getByRole('button', { name: 'Sign in with another token' }).click();
  await signIn(page, filled.service.token);
  await page.getByText('1–100 of 1,200').waitFor();
});

test('names the address that is no page, and leads back', async () => {
  const page = await filled.open('/records');
  await page.goto('/#/recrods?tenant=TX');
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await page.locator('#page').getByText('#/recrods?tenant=TX').waitFor();
  await page.locator('#page').getByRole('link', { name: 'Go to OVERVIEW' }).click();
  await page.getByRole('region', { name: 'Figures' }).waitFor();
});

test('says of a link to a record or a node that is gone that nothing is there', async () => {
  const gone = 'TX/DFW/2001-03-01T00:00:00.000001Z/gone';
  const page = await filled.open(`${bigLeaf}&panel=record/${gone}`, {
    expected: [/404 \(Not Found\).*\/records\/one/],
  });
  await drawerOf(page).getByRole('heading', { name: 'There is no such thing here' }).waitFor();
  await drawerOf(page).getByText('It may have been removed').waitFor();
  // The rest of the page is none the worse, and does not ask again.
  await page.getByText('1–100 of 1,200').waitFor();
  expect(await page.locator('[data-failing]').count()).toBe(0);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });

  await page.goto(`/#${bigLeaf}&panel=record/nonsense`);
  await drawerOf(page).getByText('This link names no record.').waitFor();
  await page.goto('/#/records?tenant=ZZ');
  await page.getByText('Nothing is stored here, or your token may not see it.').waitFor();
  await page.getByRole('heading', { name: 'No records here' }).waitFor();
});

test('keeps the rows while too many requests are made, and goes on by itself', async () => {
  const page = await filled.openBlank({ expected: [/429 \(Too Many Requests\)/] });
  await page.clock.install();
  const rate = await limitRate(page);
  await filled.openIn(page, bigLeaf);
  await page.getByText('1–100 of 1,200').waitFor();
  const rows = await recordRows(page).allTextContents();

  rate.turn(true);
  await page.clock.fastForward(40_000);
  const banner = page.locator('[data-failing]');
  await banner.getByText('429 Too many requests').waitFor();
  // Not before Retry-After.
  expect(await banner.innerText()).toMatch(/next try in ([7-9]|\d\d) s|trying now/);
  expect(await recordRows(page).allTextContents()).toEqual(rows);

  rate.turn(false);
  await page.clock.fastForward(60_000);
  await banner.waitFor({ state: 'detached' });
  expect(await recordRows(page).allTextContents()).toEqual(rows);
});

test('says so when the first load is one request too many, and shows the data once it may', async () => {
  const page = await filled.openBlank({ expected: [/429 \(Too Many Requests\)/] });
  await page.clock.install();
  const rate = await limitRate(page);
  rate.turn(true);
  await page.goto('/#/records?tenant=TX');
  await signIn(page, filled.service.token);
  const panel = page.getByRole('alert').filter({ hasText: 'Too many requests' }).first();
  await panel.waitFor();
  expect(await panel.innerText()).toMatch(/Wait 7 s\.[\s\S]*next try in \d+ s/);

  rate.turn(false);
  await page.clock.fastForward(60_000);
  await treeNode(page, 'TX').waitFor();
  await recordRows(page).first().waitFor();
  await panel.waitFor({ state: 'detached' });
});

test('says that a filter finds nothing, and takes it away', async () => {
  const page = await filled.open(`${bigLeaf}&kind=nothing`);
  await page.getByRole('heading', { name: 'No records with these filters' }).waitFor();
  // There are two, as there are two ways to the eye.
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await page.getByText('1–100 of 1,200').waitFor();
  expect(hashOf(page)).not.toContain('kind');
});

test('says that a search finds nothing, and shows all again on Escape', async () => {
  const page = await filled.open('/records');
  await page.keyboard.press('/');
  await page.keyboard.type('ZZ');
  await page.getByText('No tenant begins with “ZZ”.').waitFor();
  await page.keyboard.press('Escape');
  await treeNode(page, 'TX').waitFor();
});
