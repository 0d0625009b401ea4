import fc from 'fast-check';
import { day, tenant } from '../values.mjs';
import { call } from '../world.mjs';
import { isAnswer } from './records.mjs';

const via = fc.nat(3);

export const retentionCommands = [
  {
    name: 'run retention',
    weight: 4,
    draw: fc.record({
      via,
      tenant: fc.option(tenant, { nil: undefined }),
      before: fc.option(day, { nil: undefined }),
    }),
    async play(world, { via: at, tenant: own, before }) {
      const body = {
        ...(own !== undefined && { tenant: own }),
        ...(before !== undefined && { before }),
      };
      const answer = await call(world, 'POST', '/retention/run', { body, via: at });
      if (isAnswer(world, answer, 'run', [202])) {
        world.pending.push({ what: `run ${answer.json.id}`, kind: 'run', id: answer.json.id });
      }
    },
  },
  {
    name: 'change a policy',
    weight: 1,
    draw: fc.record({ via, tenant, hotDays: fc.constantFrom(0, 3, 30, 20_000) }),
    async play(world, { via: at, tenant: own, hotDays }) {
      const path = `/retention/policies/${encodeURIComponent(own)}`;
      const answer = await call(world, 'PUT', path, { body: { hot_days: hotDays }, via: at });
      isAnswer(world, answer, 'policy', [200]);
    },
  },
  {
    name: 'look at the plan and the journal',
    weight: 1,
    draw: fc.record({
      via,
      path: fc.constantFrom(
        '/retention/plan',
        '/retention/moves',
        '/stats/overview',
        '/status',
        '/doctor',
      ),
    }),
    async play(world, { via: at, path }) {
      isAnswer(world, await call(world, 'GET', path, { via: at }), path, [200]);
    },
  },
  {
    name: 'verify cold data',
    weight: 1,
    draw: fc.record({ via }),
    async play(world, { via: at }) {
      const answer = await call(world, 'POST', '/retention/verify', { body: {}, via: at });
      if (!isAnswer(world, answer, 'verification', [202])) return;
      // What it finds while the store fails is judged by the verification at rest.
      world.pending.push({
        what: `verification ${answer.json.id}`,
        kind: 'look',
        id: answer.json.id,
      });
    },
  },
];
