import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startIdentityServer, testClient } from '../../packages/server/test/identity-server.mjs';
import { identitySettings } from '../../packages/server/test/person.ts';
import { use } from '../../packages/server/test/use.ts';
import { createInstallation, findFreePorts } from '../lib/installation.ts';
import { drawerOf, launchBrowser, pollMillis } from './lib/browser.ts';

const world = use(
  async () => {
    const [port] = await findFreePorts(1);
    const publicUrl = `http://127.0.0.1:${port}`;
    const identity = await startIdentityServer(publicUrl);
    const installation = await createInstallation('database');
    const service = await installation.start({
      ...identitySettings(identity.issuer, testClient.secret),
      SVC_PORT: String(port),
      SVC_PUBLIC_URL: publicUrl,
    });
    return { identity, installation, service, publicUrl };
  },
  async ({ identity, installation }) => {
    await installation.remove();
    await identity.stop();
  },
);

test('a colleague signs in, confirms and signs out at the identity server, and finds their name in the log', async () => {
  const browser = await launchBrowser();
  const context = await browser.newContext({
    baseURL: world.publicUrl,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
  });
  context.setDefaultTimeout(40_000);
  try {
    const page = await context.newPage();
    await page.clock.install();
    const pictures = process.env.SVC_TEST_PICTURES;
    const shoot = async (name: string) => {
      if (pictures === undefined) return;
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.screenshot({ path: join(pictures, `sign-in-${name}-${colorScheme}.png`) });
      }
    };
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    await page.goto('/#/access?view=tokens');
    await button('Sign in with Acme').waitFor();
    await page.locator(':focus', { hasText: 'Sign in with Acme' }).waitFor();
    expect(await page.getByLabel('Access token').isVisible()).toBe(true);
    await shoot('page');
    await button('Sign in with Acme').click();
    // It leads back to where the person wanted to go.
    await button('New token').click();
    expect(await page.locator('header').innerText()).toContain('Ada King');
    await drawerOf(page).getByLabel('Name').fill('of Ada');
    await button('Make the token').click();
    await page.getByText('Confirm that it is you').waitFor();
    await shoot('confirm');
    const opened = page.waitForEvent('popup');
    await button('Confirm with Acme').click();
    await (await opened).waitForEvent('close');
    await page.getByText(/^svc_/).first().waitFor();
    await button('I have kept it').click();
    await button('AUDIT').click();
    await page.getByText('Ada King <ada@acme.example>').first().waitFor();
    await shoot('audit');

    // The session ends: the page stays, and goes on after a window has come back.
    await context.clearCookies({ name: 'svc_session' });
    await button('TOKENS').click();
    await page.clock.fastForward(pollMillis);
    await page.getByText('Your session has ended').waitFor({ timeout: 120_000 });
    await shoot('ended');
    const again = page.waitForEvent('popup');
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in with Acme' }).click();
    await (await again).waitForEvent('close');
    await page.getByText('Your session has ended').waitFor({ state: 'detached' });
    await page.getByText('of Ada').first().waitFor();

    await button('Signed in as').click();
    await shoot('who');
    await button('Sign out').click();
    await page.waitForURL(`${world.identity.issuer}/**`);

    // Without the group, they are told who decides that.
    Object.assign(world.identity.colleagues.ada ?? {}, { groups: ['desk-tx'] });
    await page.goto('/#/access?view=tokens');
    await button('Sign in with Acme').click();
    await page.getByRole('heading', { name: 'This page needs the scope audit:read' }).waitFor();
    const told = await page.locator('#page').innerText();
    expect(told).toContain('SVC_OIDC_GROUPS');
    expect(told).not.toContain('token');
    await button('Sign in anew').waitFor();
  } finally {
    await context.close();
  }
});
