import fc from 'fast-check';
import { tenant } from '../values.mjs';
import { call, outcomeOf } from '../world.mjs';
import { ask, isAnswer, via } from './records.mjs';
import { endpoints, ofOne, pathOf } from './webhooks.mjs';

const links = '/webhook/portal-links';
/** What a session of the portal reads: each row says whose it is. */
const lists = ['/webhook/endpoints', '/webhook/deliveries', '/webhook/dlq', '/incidents'];

const visits = (world) => world.visits;

export const portalCommands = [
  {
    name: 'let somebody into the portal',
    weight: 2,
    draw: fc.record({ via, tenant, isReading: fc.boolean() }),
    async play(world, { via: through, tenant: own, isReading }) {
      const body = { tenant: own, scope: isReading ? 'webhooks:read' : 'webhooks:manage' };
      const made = await ask(world, 'link', [201], 'POST', links, { body, via: through });
      if (made === undefined) return;
      const code = made.json.url.split('code=')[1];
      const opening = { body: { code }, token: null };
      const open = (at) => call(world, 'POST', '/portal/session', { ...opening, via: at });
      const answers = await Promise.all([open(through), open(through + 1)]);
      const opened = answers.filter(({ status }) => status === 200);
      if (opened.length > 1) world.say(`the link ${made.json.id} was opened twice`);
      if (answers.every(({ status }) => status === 401))
        world.say(`the link ${made.json.id} opened nothing`);
      for (const { headers } of opened) {
        const [cookie] = headers['set-cookie'][0].split(';');
        const session = { headers: { cookie, 'svcctl-portal': '1' }, token: null };
        world.visits.push({ id: made.json.id, tenant: own, session, isReading, isEnded: false });
      }
      if (answers.some((answer) => outcomeOf(answer) === 'lost')) return;
      const again = await open(through);
      if (again.status === 200) world.say(`the link ${made.json.id} was opened again`);
    },
  },
  ofOne(
    visits,
    'look around in the portal',
    4,
    async (world, visit, { via: through, list }) => {
      const { tenant: own, isEnded } = visit;
      const options = { ...visit.session, via: through };
      const answer = await call(world, 'GET', list, options);
      if (isEnded && answer.status === 200) world.say(`the portal ${visit.id} did not end`);
      if (answer.status === 401 && !visit.mayBeEnded) world.say(`the portal ${visit.id} ended`);
      for (const row of answer.status === 200 ? answer.json.data : [])
        if (row.tenant !== own) world.say(`the portal of ${own} shows ${row.id} of ${row.tenant}`);
    },
    { list: fc.constantFrom(...lists) },
  ),
  ofOne(
    visits,
    'act in the portal on an endpoint',
    2,
    async (world, visit, { via: through, place, number }) => {
      const all = endpoints(world);
      const endpoint = all[place % all.length];
      const isOwn = endpoint.tenant === visit.tenant;
      const { isEnded, isReading, session } = visit;
      const labels = { seen: String(number) };
      const options = { ...session, via: through, body: { labels } };
      const answer = await call(world, 'PATCH', pathOf(endpoint), options);
      if (answer.status === 200 && (isEnded || isReading || !isOwn))
        world.say(`the portal ${visit.id} of ${visit.tenant} changed ${endpoint.id}`);
      const expected = isReading ? [403] : isOwn ? [200, 404] : [404];
      isAnswer(
        world,
        answer,
        'change in the portal',
        visit.mayBeEnded ? [401, ...expected] : expected,
      );
    },
    { place: fc.nat(1000), number: fc.nat(1000) },
  ),
  ofOne(visits, 'end a visit to the portal', 1, async (world, visit, { via: through }) => {
    visit.mayBeEnded = true;
    const answer = await call(world, 'DELETE', `${links}/${visit.id}`, { via: through });
    if (isAnswer(world, answer, 'end of a link', [204])) visit.isEnded = true;
  }),
];
