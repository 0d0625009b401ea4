import { expect, test } from 'vitest';
import { findKeyDisorder } from './key-order.mjs';
import { RecordModel } from './model.mjs';
import { findDisorder } from './order.mjs';
import { PollModel } from './poll-model.mjs';
import { content } from './values.mjs';
import { WebhookModel } from './webhook-model.mjs';

const where = { tenant: 'TX', store: 'S1', day: '2026-02-01', time: '12:00:00.000001' };
const record = (event, variant = 0) => content({ ...where, event, kind: null, size: 0, variant });
const row = ({ key, digest }) => ({ key, digest });

function written(model, contents, outcome) {
  const write = model.beginWrite(contents);
  return model.endWrite(
    write,
    contents.map(() => outcome),
  );
}

function shown(model, contents) {
  return model.endRead(model.beginRead({ tenant: 'TX' }), contents.map(row));
}

test('what was acknowledged must be shown, once, and what was refused must not', () => {
  const model = new RecordModel();
  expect(written(model, [record(1)], 'stored')).toEqual([]);
  written(model, [record(2)], 'refused');
  expect(shown(model, [record(1)])).toEqual([]);
  expect(shown(model, [])[0]).toContain('was not shown, though it is stored');
  expect(shown(model, [record(1), record(1)])[0]).toContain('was shown twice');
  expect(shown(model, [record(1), record(2)])[0]).toContain('must not be');
  expect(shown(model, [record(1), record(3)])[0]).toContain('nobody has sent');
});

test('what was lost may be either, and stays what it was seen to be once all is at rest', () => {
  const model = new RecordModel();
  written(model, [record(1)], 'lost');
  expect(shown(model, [])).toEqual([]);
  expect(shown(model, [record(1)])).toEqual([]);
  expect(shown(model, [])).toEqual([]);
  model.rest();
  expect(shown(model, [record(1)])).toEqual([]);
  expect(shown(model, [])[0]).toContain('was not shown');
});

test('the first of two contents stays, and the other is a conflict', () => {
  const model = new RecordModel();
  written(model, [record(1)], 'stored');
  expect(written(model, [record(1, 1)], 'conflict')).toEqual([]);
  expect(written(model, [record(1, 1)], 'stored')[0]).toContain('another is stored');
  expect(written(model, [record(2)], 'conflict')[0]).toContain('no other is stored');
});

test('a record that is sent again is the one that was sent before', () => {
  const model = new RecordModel();
  const first = record(1);
  written(model, [first], 'lost');
  written(model, [record(1)], 'stored');
  written(model, [record(1, 1)], 'conflict');
  expect(model.sent(first.key, first.digest)).toBe(first);
  expect(model.stored({ tenant: 'TX' })).toEqual([first]);
  expect(model.sent(first.key, record(1, 2).digest)).toBeUndefined();
});

test('what was erased is gone, and what was written meanwhile may be either', () => {
  const model = new RecordModel();
  written(model, [record(1)], 'stored');
  const erasure = model.beginErasure({ tenant: 'TX' });
  written(model, [record(2)], 'stored');
  expect(model.endErasure(erasure).map(({ eventId }) => eventId)).toEqual(['e1']);
  expect(shown(model, [record(2)])).toEqual([]);
  expect(shown(model, [record(1), record(2)])[0]).toContain('must not be');
});

test('what was being written when an erasure began may be there or not', () => {
  for (const seen of [[], [record(1)]]) {
    const model = new RecordModel();
    const write = model.beginWrite([record(1)]);
    const erasure = model.beginErasure({ tenant: 'TX' });
    expect(model.endWrite(write, ['stored'])).toEqual([]);
    expect(model.endErasure(erasure)).toEqual([]);
    expect(shown(model, seen)).toEqual([]);
  }
});

test('counts and digests of all leaves are those of their records', () => {
  const model = new RecordModel();
  const contents = [record(1), record(2)];
  written(model, contents, 'stored');
  const [{ bytes }] = contents;
  const sum = BigInt.asUintN(64, contents[0].digest + contents[1].digest);
  const digest = sum.toString(16).padStart(16, '0');
  const leaf = { store: 'S1', month: '2026-02', count: 2, bytes: 2 * bytes, digest };
  const judged = (change) =>
    model.endTree(model.beginRead({ tenant: 'TX' }), [{ ...leaf, ...change }]);
  expect(judged({})).toEqual([]);
  expect(judged({ count: 3 })[0]).toContain('counted 3 of 2 to 2');
  expect(judged({ bytes: 1 })[0]).toContain('1 bytes instead of');
  expect(judged({ store: 'S2' })[0]).toContain('counted 2 of 0 to 0');
  expect(judged({ digest: '0'.repeat(16) })[0]).toContain('digest');
});

test('a backup holds what was there before it, and may hold what came while it was made', () => {
  const model = new RecordModel();
  written(model, [record(1)], 'stored');
  const { startedAt } = model.beginRead({});
  written(model, [record(2)], 'stored');
  const copy = model.copy({ since: startedAt });
  written(model, [record(3)], 'stored');
  expect(shown(copy, [record(1)])).toEqual([]);
  expect(shown(model.copy({ since: startedAt }), [record(1), record(2)])).toEqual([]);
  expect(shown(copy, [record(2)])[0]).toContain('was not shown');
  expect(shown(copy, [record(1), record(3)])[0]).toContain('nobody has sent');
});

test('a delivery is there, came if it is said to, and is discarded only if somebody asked for it', () => {
  const webhooks = new WebhookModel();
  const delivery = { id: 'dlv_1', mayGo: false };
  expect(webhooks.judge(delivery, undefined, undefined)[0]).toContain('is gone');
  expect(webhooks.judge(delivery, 'delivered', { accepted: 0 })[0]).toContain('never came');
  expect(webhooks.judge(delivery, 'discarded', undefined)[0]).toContain('nobody asked');
  expect(webhooks.judge({ ...delivery, mayGo: true }, 'discarded', undefined)).toEqual([]);
  expect(webhooks.judge(delivery, 'delivered', { accepted: 1 })).toEqual([]);
});

test('a delivery whose first report was lost may be discarded with the backlog of before the second', () => {
  const mayGo = (startedAt) => {
    const webhooks = new WebhookModel();
    const discard = webhooks.beginDiscard('ep_1');
    webhooks.end(discard);
    const incident = { key: 'k', tenant: 'TX', type: 'x', isRepeated: true, startedAt };
    const row = { id: 'dlv_1', endpoint_id: 'ep_1', idempotency_key: 'msg_1' };
    webhooks.accept(incident, { id: 'inc_1', deliveries: [row] }, webhooks.now());
    return webhooks.deliveries.get('msg_1').mayGo;
  };
  expect(mayGo(0)).toBe(true);
  expect(mayGo(undefined)).toBe(false);
});

test('what is polled is handed out until a cursor acknowledges it, and then no more', () => {
  const model = new PollModel();
  const row = (id) => ({ id, headers: { 'webhook-id': `msg_${id}` }, body: '{}' });
  const poll = (after, ids, due) =>
    model.end(
      model.begin(after),
      { data: ids.map(row), next_cursor: ids.length > 0 ? `c${ids.at(-1)}` : (after ?? null) },
      due,
    );
  expect(poll(undefined, ['1', '2'], ['1', '2'])).toEqual([]);
  expect(poll(undefined, ['2'], ['1', '2'])[0]).toContain('1 waits');
  expect(poll(undefined, ['1'], null)).toEqual([]);
  expect(poll('c1', ['2'], ['1', '2'])).toEqual([]);
  expect(poll(undefined, ['1', '2'], [])[0]).toContain('1 was acknowledged');
  expect(model.judge({ id: '1', mayGo: false }, 'delivered')).toEqual([]);
  expect(model.judge({ id: '2', mayGo: false }, 'delivered')[0]).toContain('nobody acknowledged');
  expect(model.judge({ id: '2', mayGo: false }, 'queued')[0]).toContain('all that waited');
  // A poll whose answer is lost may have acknowledged what its cursor covers.
  model.begin('c2');
  expect(model.judge({ id: '2', mayGo: false }, 'delivered')).toEqual([]);
});

test('what a call saw that had ended may not be undone for one that begins later', () => {
  const seen = (from, to, value) => ({ key: 'attempts', from, to, value, what: String(value) });
  expect(findDisorder([seen(0, 1, 1), seen(2, 3, 2), seen(2, 5, 1)])).toEqual([]);
  expect(findDisorder([seen(0, 1, 2), seen(2, 3, 1)])).toEqual([
    'attempts was seen as 1, and before as 2',
  ]);
  expect(findDisorder([seen(0, 9, 2), seen(2, 3, 1)])).toEqual([]);
});

test('what is ordered comes once the one before it was answered, in the order of acceptance', () => {
  const arrival = (sequence, firstAt, answeredAt, more = {}) => ({
    ...{ name: `msg_${sequence}`, sequence, firstAt, answeredAt, isFree: false },
    ...{ reportedAt: sequence * 10, acceptedAt: sequence * 10 + 5, ...more },
  });
  expect(findKeyDisorder([arrival(1, 0, 10), arrival(2, 11, 12)])).toEqual([]);
  const early = [arrival(1, 0, 10), arrival(2, 9, 12)];
  expect(findKeyDisorder(early)).toEqual(['msg_2 came before msg_1 was answered']);
  // What was given up, or sent by hand, comes when it comes.
  expect(findKeyDisorder([arrival(1, 0, 10, { isFree: true }), arrival(2, 9, 12)])).toEqual([]);
  const swapped = [arrival(1, 0, 1, { reportedAt: 30, acceptedAt: 31 }), arrival(2, 2, 3)];
  expect(findKeyDisorder(swapped)[0]).toContain('msg_1 goes before msg_2');
});

test('an incident goes to those that want it or is held back from them, and has one fate', () => {
  const webhooks = new WebhookModel();
  const wanted = { types: ['incident.*'], stores: ['S1'], where: 1 };
  const endpoint = {
    ...{ id: 'ep_1', tenant: 'TX', path: '', wanted, past: [], ordered: 'none', secrets: [] },
    ...{ areSecretsKnown: true, isDeleted: false, changedAt: 0, subscribedAt: 0, poll: null },
    madeUpTo: -Infinity,
  };
  webhooks.endpoints.set('ep_1', endpoint);
  const report = (key, made, answer) => {
    const incident = { key, tenant: 'TX', type: 'incident.x', store: 'S1', score: 0.9, ...made };
    incident.startedAt = webhooks.now();
    webhooks.incidents.set(key, incident);
    const told = { id: `inc_${key}`, deliveries: [], ...answer };
    return webhooks.accept(incident, told, incident.startedAt);
  };
  const sent = (key) => [{ id: `dlv_${key}`, endpoint_id: 'ep_1', idempotency_key: `msg_${key}` }];
  expect(report('a', {}, { deliveries: sent('a') })).toEqual([]);
  expect(report('b', {}, { held_back: ['ep_1'] })).toEqual([]);
  expect(report('c', {}, {})[0]).toContain('did not go');
  expect(report('d', { score: 0.1 }, { deliveries: sent('d') })[0]).toContain('went to ep_1');
  expect(report('e', { store: 'S2' }, {})).toEqual([]);
  expect(report('f', { type: 'incident' }, {})).toEqual([]);
  expect(report('g', {}, { deliveries: sent('g'), held_back: ['ep_1'] })[0]).toContain('is held');
  const none = { missed: 0, discarded: 0, failed: 0, waiting: 0, erased: 0 };
  const fates = { ...none, delivered: 2, missed: 2, unwanted: 3 };
  expect(webhooks.judgeFates(endpoint, fates)).toEqual([]);
  expect(webhooks.judgeFates(endpoint, { ...fates, missed: 1 })[0]).toContain('7 incidents are 6');
  const leaked = webhooks.judgeFates(endpoint, { ...fates, delivered: 3, unwanted: 2 });
  expect(leaked[0]).toContain('2 incidents are unwanted');
  endpoint.madeUpTo = webhooks.now();
  expect(webhooks.judgeFates(endpoint, fates)[0]).toContain('2 incidents are missed');
});
