import fc from 'fast-check';
import { day, tenant } from '../values.mjs';
import { ask, via } from './records.mjs';

/** Where readers of Iceberg find the cold records. */
export const tablePath = '/iceberg/v1/namespaces/svcctl/tables/records';

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
      const options = { body, via: at };
      const answer = await ask(world, 'run', [202], 'POST', '/retention/run', options);
      if (answer === undefined) return;
      const { id } = answer.json;
      world.pending.push({ what: `run ${id}`, kind: 'run', id });
    },
  },
  {
    name: 'change a policy',
    weight: 1,
    draw: fc.record({ via, tenant, hotDays: fc.constantFrom(0, 3, 30, 20_000) }),
    async play(world, { via: at, tenant: own, hotDays }) {
      const path = `/retention/policies/${encodeURIComponent(own)}`;
      const options = { body: { hot_days: hotDays }, via: at };
      await ask(world, 'policy', [200], 'PUT', path, options);
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
    play: (world, { via: at, path }) => ask(world, path, [200], 'GET', path, { via: at }),
  },
  {
    name: 'load the table that retention keeps for other engines',
    weight: 1,
    draw: fc.record({ via }),
    async play(world, { via: at }) {
      const from = performance.now();
      const answer = await ask(world, 'table', [200], 'GET', tablePath, { via: at });
      if (answer === undefined) return;
      const value = answer.json.metadata['last-sequence-number'];
      const span = { from, to: performance.now() };
      world.observed.push({ key: 'the table', ...span, value, what: String(value) });
    },
  },
  {
    name: 'verify cold data',
    weight: 1,
    draw: fc.record({ via }),
    async play(world, { via: at }) {
      const options = { body: {}, via: at };
      const answer = await ask(world, 'verification', [202], 'POST', '/retention/verify', options);
      if (answer === undefined) return;
      // What it finds while the store fails is judged by the verification at rest.
      const { id } = answer.json;
      world.pending.push({ what: `verification ${id}`, kind: 'look', id });
    },
  },
];
