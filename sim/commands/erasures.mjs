import fc from 'fast-check';
import { slice } from '../values.mjs';
import { call, outcomeOf } from '../world.mjs';
import { ask, isAnswer, via } from './records.mjs';

export const erasureCommands = [
  {
    name: 'erase records',
    weight: 2,
    draw: fc.record({
      ...{ via, slice },
      ids: fc.option(fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 5 }), {
        freq: 3,
        nil: undefined,
      }),
      hasSubject: fc.boolean(),
      isDryRun: fc.boolean(),
    }),
    play: (world, { via: at, slice: filter, ids, hasSubject, isDryRun }) =>
      erase(world, at, { filter, ids, hasSubject, isDryRun }),
  },
];

async function erase(world, via, { filter, ids, hasSubject, isDryRun }) {
  const { tenant: own, store: ownStore, from = '1970-01-01', to = '2999-12-31' } = filter;
  const of = { tenant: own, ...(ownStore && { store: ownStore }) };
  const eventIds = ids?.map((n) => `e${n}`);
  // A call names events or days, and never a tenant alone.
  const meant = eventIds === undefined ? { ...of, from, to } : { ...of, ids: new Set(eventIds) };
  const named = eventIds === undefined ? { from, to } : { event_ids: eventIds };
  // All records have this number, so what goes is the same; but each record is looked at.
  const subject = hasSubject && { subject: { field: 'n', value: '9007199254740993' } };
  const body = { ...of, ...named, ...subject, ...(isDryRun && { dry_run: true }) };
  const planned = world.records.beginRead(meant);
  const { dry_run: _isDry, ...asked } = body;
  const planning = { body: asked, via: via + 1, timeoutMillis: 40_000 };
  const plan = await call(world, 'POST', '/enrichment/erase/plan', planning);
  if (isAnswer(world, plan, 'plan of an erasure', [200]))
    world.faults.push(...world.records.endCount(planned, plan.json.erased));
  const erasure = world.records.beginErasure(meant);
  const options = { body, via, timeoutMillis: 40_000 };
  const answer = await call(world, 'POST', '/enrichment/erase', options);
  if (answer.status === 200 && isDryRun) return void world.records.cancelErasure(erasure);
  if (answer.status === 200 && answer.json.erased_at !== null) {
    const at = Date.now();
    for (const gone of world.records.endErasure(erasure))
      world.erased.set(gone.marker, { content: gone, at });
    const { id, erased } = answer.json;
    const path = `/enrichment/erasures/${id}`;
    const again = await ask(world, 'receipt', [200], 'GET', path, { via: via + 1 });
    const told = ({ count, bytes, digest }) => `${count}, ${bytes}, ${digest}`;
    if (again !== undefined && told(again.json.erased) !== told(erased))
      world.say(`the receipt ${id} tells ${told(again.json.erased)} after ${told(erased)}`);
    return;
  }
  if (outcomeOf(answer) === 'refused') {
    world.records.cancelErasure(erasure);
    isAnswer(world, answer, 'erasure', [409, 404]);
  }
}
