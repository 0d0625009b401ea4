import fc from 'fast-check';
import { tenant } from '../values.mjs';
import { call, outcomeOf } from '../world.mjs';
import { ask, isAnswer, via } from './records.mjs';

export const sessionCommands = [
  {
    name: 'open a session by a token, and end it',
    weight: 1,
    draw: fc.record({ via }),
    play: (world, { via: at }) => visitConsole(world, at),
  },
  {
    name: 'save a view by a token, and remove it',
    weight: 1,
    draw: fc.record({ via, tenant, isShared: fc.boolean() }),
    play: (world, { via: at, tenant: own, isShared }) => keepView(world, at, own, isShared),
  },
];

/** Signs in, acts once it is confirmed, is found in the list and in the audit log, and is let in no more at its end. */
async function visitConsole(world, via) {
  const token = { token: world.token };
  const opened = await ask(world, 'sign-in', [200], 'POST', '/session', {
    ...{ body: token, token: null, via },
  });
  if (opened === undefined) return;
  const [cookie] = opened.headers['set-cookie'][0].split(';');
  const session = { headers: { cookie }, token: null };
  // It goes from one process to another.
  const asked = (what, statuses, step, method, path, body) =>
    ask(world, what, statuses, method, path, { ...session, via: via + step, body });
  const make = (step, status) =>
    asked('token by a session', [status], step, 'POST', '/tokens', {
      ...{ name: 'by a session', scopes: ['enrichment:read'] },
    });
  if ((await make(1, 403)) === undefined) return;
  if ((await asked('step-up', [200], 2, 'POST', '/session/confirm', token)) === undefined) return;
  const made = await make(3, 201);
  if (made === undefined) return;
  const { id } = made.json;
  const log = await asked('audit log', [200], 1, 'GET', `/audit?q=${id}&limit=10`);
  const acts = log?.json.data.filter((entry) => entry.target === id) ?? [];
  if (log !== undefined && acts.map(({ action }) => action).join() !== 'token.create')
    world.say(`the audit log says of the token ${id}: ${JSON.stringify(acts)}`);
  const list = await asked('sessions', [200], 2, 'GET', '/sessions');
  if (list !== undefined && !list.json.data.some((each) => each.is_current))
    world.say('a session is not in the list of sessions');
  const out = await call(world, 'DELETE', '/session', { ...session, via });
  if (!isAnswer(world, out, 'sign-out', [204])) return;
  const after = await call(world, 'GET', '/me', { ...session, via: via + 1 });
  if (after.status === 200) world.say('a session that was ended was let in');
}

/** A view is in the list of its owner, and in that of others if it is shared, until it is removed. */
async function keepView(world, via, own, isShared) {
  const minting = { via, body: { name: 'with a view', scopes: ['enrichment:read'] } };
  const [one, other] = [
    await ask(world, 'token', [201], 'POST', '/tokens', minting),
    await ask(world, 'token', [201], 'POST', '/tokens', minting),
  ];
  if (one === undefined || other === undefined) return;
  const { token, id } = one.json;
  const name = `of ${id}`;
  const path = `/views/${encodeURIComponent(name)}`;
  // The service writes addresses as forms do, which differs from encodeURIComponent in spaces and quotes.
  const address = `#/records?${new URLSearchParams({ tenant: own })}`;
  const body = { address, shared: isShared };
  const saved = await ask(world, 'view', [200], 'PUT', path, { via, token, body });
  if (saved === undefined) return;
  const look = async (by, step, isThere) => {
    const list = await ask(world, 'views', [200], 'GET', '/views', {
      ...{ via: via + step, token: by.json.token },
    });
    const found = list?.json.data.filter((each) => each.name === name);
    const is = isThere ? found?.length === 1 && found[0].address === address : found?.length === 0;
    if (found !== undefined && !is) world.say(`the view ${name}: ${JSON.stringify(found)}`);
  };
  await look(one, 1, true);
  await look(other, 2, isShared);
  const gone = await call(world, 'DELETE', path, { via, token });
  if (outcomeOf(gone) === 'lost' || !isAnswer(world, gone, 'removal of a view', [204])) return;
  await look(one, 1, false);
  await look(other, 2, false);
}
