import { expect, test } from 'vitest';
import { launchBrowser, useConsole } from '../../console/lib/browser.ts';
import { startEmpty } from '../../console/lib/filled-service.ts';

const empty = useConsole(() => startEmpty({}, 'cluster'));

test('texts are drawn in the fonts that come with the browser, whatever this machine has', async () => {
  const page = await (await launchBrowser()).newPage();
  try {
    await page.setContent('<p style="font-family: monospace">4,213 records</p>');
    const devtools = await page.context().newCDPSession(page);
    const { root } = await devtools.send('DOM.getDocument');
    await devtools.send('CSS.enable');
    const text = await devtools.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'p' });
    const { fonts } = await devtools.send('CSS.getPlatformFontsForNode', text);
    expect(fonts.map(({ familyName }) => familyName)).toEqual(['Open Sans']);
  } finally {
    await page.close();
  }
});

/** What a test can leave behind in a page. */
const leftBehind = `({
  local: localStorage.length,
  session: sessionStorage.length,
  width: innerWidth,
  isDark: matchMedia('(prefers-color-scheme: dark)').matches,
  hovered: document.querySelector(':hover:not(:has(:hover))')?.outerHTML.slice(0, 200),
  isFakeClock: !String(Date).includes('[native code]'),
})`;

test.each([
  ['a first test', undefined],
  ['the next one, after storage, routes, sizes and a granted permission', false],
  ['one after a clock', true],
] as const)('a page is as in a fresh profile for %s', async (_, hasClock) => {
  const page = await empty.openBlank({ expected: [/401 \(Unauthorized\)/] });
  await page.goto('/');
  await page.getByLabel('Access token').waitFor();
  // What is hovered is known a frame after it was laid out.
  await expect
    .poll(() => page.evaluate(leftBehind))
    .toEqual({
      local: 0,
      session: 0,
      width: 1440,
      isDark: false,
      isFakeClock: false,
      hovered: expect.stringMatching(/^<main/),
    });
  expect(await page.context().cookies()).toEqual([]);
  expect(await page.evaluate(`fetch('/healthz').then((answer) => answer.status)`)).toBe(200);
  const state = `navigator.permissions.query({ name: 'clipboard-read' }).then((each) => each.state)`;
  expect(await page.evaluate(state)).not.toBe('granted');

  await page.evaluate(`localStorage.setItem('a', 'b'); sessionStorage.setItem('a', 'b')`);
  await page.context().grantPermissions(['clipboard-read']);
  await page.context().addCookies([{ name: 'a', value: 'b', url: empty.service.url }]);
  await page.route('**/healthz', (route) => route.fulfill({ status: 418 }));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.mouse.move(50, 50);
  if (hasClock === false) await page.clock.install();
});
