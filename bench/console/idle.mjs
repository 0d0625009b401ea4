import { goal, markdownTable } from '../lib/table.mjs';

/** What a page asks the service for while nobody touches it: its poll, once each half minute. */
export async function benchIdle({ scope, browser, sizes, say }) {
  const page = await browser.openPage(scope);
  await page.goto('/#/records?tenant=records&store=store&month=2025-01&open=records/store');
  await page.locator('tbody tr[data-key]').first().waitFor();
  await page.waitForLoadState('networkidle');
  const asked = new Map();
  page.on('request', (request) => {
    const url = new URL(request.url());
    // What may be opened next is loaded once while the page rests.
    if (url.pathname.startsWith('/assets/')) return;
    const name = `${request.method()} ${url.pathname}${url.search}`;
    asked.set(name, (asked.get(name) ?? 0) + 1);
  });
  say(`idle: watching for ${sizes.idleMillis / 1000} s`);
  await page.waitForTimeout(sizes.idleMillis);
  const most = Math.ceil(sizes.idleMillis / 30_000);
  const rows = [...asked].map(([name, times]) => [
    `\`${name}\``,
    times,
    goal(`≤ ${most}`, times <= most && name.startsWith('GET /api/')),
  ]);
  const total = [...asked.values()].reduce((sum, times) => sum + times, 0);
  return [
    '### An idle page',
    `A chosen month with its records, left alone for ${sizes.idleMillis / 1000} s: ${total} requests.`,
    ...(rows.length === 0 ? [] : [markdownTable(['request', 'times:', 'goal'], rows)]),
  ].join('\n\n');
}
