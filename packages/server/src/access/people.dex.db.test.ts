import { expect, test } from 'vitest';
import { findDex, startDex } from '../../test/dex.ts';
import { type Colleague, testClient } from '../../test/identity-server.mjs';
import { identitySettings, openBrowser, testPublicUrl } from '../../test/person.ts';
import { startTestService } from '../../test/service.ts';

const program = findDex();

/** A service whose people sign in at a Dex. */
async function startWorld(program: string, { hasSessions }: { hasSessions: boolean }) {
  const colleagues: Record<string, Colleague> = {
    ada: { name: 'Ada King', email: 'ada@acme.example', groups: ['ops'] },
    bob: { name: 'Bob Bee', email: 'bob@acme.example', groups: ['desk-tx', 'chess'] },
  };
  const dex = await startDex(program, testPublicUrl, { colleagues, hasSessions });
  const service = await startTestService(identitySettings(dex.issuer, testClient.secret));
  const signIn = async (who: string) => {
    const browser = openBrowser(service);
    const jar = new Map<string, string>();
    const goThere = async (purpose: 'page' | 'confirm') =>
      dex.visit(await browser.begin(purpose), jar, who);
    const answer = await browser.call('POST', '/session', { answer: await goThere('page') });
    const confirm = async () =>
      browser.call('POST', '/session/confirm', { answer: await goThere('confirm') });
    return { ...browser, answer, confirm };
  };
  const stop = async () => {
    await service.stop();
    await dex.stop();
  };
  return { colleagues, dex, service, signIn, stop };
}

if (program === null) {
  test('the identity server Dex is not here: it is not on the PATH, and SVC_TEST_DEX is unset', () => {});
} else {
  test.each([true, false])(
    'colleagues come in from Dex by their groups, and leave with them (with sessions there: %s)',
    async (hasSessions) => {
      const world = await startWorld(program, { hasSessions });
      const { colleagues, dex, service, signIn } = world;
      const ada = await signIn('ada');
      expect(ada.answer.json, ada.answer.text).toMatchObject({
        kind: 'person',
        name: 'Ada King <ada@acme.example>',
        scopes: ['admin'],
        tenants: null,
      });
      expect((await ada.call('POST', '/exports/csv', { tenant: 'TX' })).status).toBe(200);
      const [exported] = (await service.call('GET', '/audit?action=export.csv')).json.data;
      expect(exported.actor.name).toBe('Ada King <ada@acme.example>');
      const bob = await signIn('bob');
      expect(bob.answer.json).toMatchObject({ tenants: ['TX'] });

      expect((await ada.call('POST', '/tokens', { name: 'x', preset: 'admin' })).status).toBe(403);
      expect((await ada.confirm()).status).toBe(200);
      expect((await ada.call('POST', '/tokens', { name: 'x', preset: 'admin' })).status).toBe(201);

      // Its keys are others after a start, and ada is in no group of the table any more.
      Object.assign(colleagues.ada ?? {}, { groups: ['chess'] });
      await dex.restart();
      expect((await signIn('bob')).answer.status).toBe(200);
      const again = await signIn('ada');
      expect(again.answer.json).toMatchObject({ code: 'person_refused' });
      expect(again.answer.json.detail).toContain('chess');
      expect((await ada.call('GET', '/me')).status).toBe(401);
      await world.stop();
    },
  );
}
