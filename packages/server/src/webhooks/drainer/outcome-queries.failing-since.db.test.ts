import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../../test/receiver.ts';
import { useWorld } from './testing/world.ts';

const receiver = useReceiver();
const world = useWorld();

test('an endpoint has failed since the first of its failures in a row, and no more after a success', async () => {
  receiver.behave(() => answer(500));
  const { id } = await world.addEndpoint(receiver.url());
  const read = async () => {
    const [row] = await world.db.query<{ count: number; since: string | null }>(sql`
      select failures_in_row as count, failing_since::text as since from webhook_endpoints where id = ${id}`);
    return row ?? { count: -1, since: null };
  };
  const until = (count: number) => expect.poll(async () => (await read()).count).toBe(count);
  const [delivery = ''] = await world.report();
  await until(1);
  const { since } = await read();
  expect(since).not.toBeNull();
  await world.makeDue(delivery);
  await until(2);
  expect(await read()).toEqual({ count: 2, since });
  receiver.behave(() => answer(204));
  await world.makeDue(delivery);
  await until(0);
  expect(await read()).toEqual({ count: 0, since: null });

  receiver.behave(() => answer(500));
  await world.report();
  await until(1);
  const again = await read();
  expect(again.since).not.toBeNull();
  expect(again.since).not.toBe(since);
  await world.call('PATCH', `/webhook/endpoints/${id}`, { body: { enabled: true } });
  expect((await read()).since).toBeNull();
});
