import { expect, test } from 'vitest';
import { launchBrowser } from './lib/browser.ts';

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
