import { formatCount, numberOf } from '../../kernel/values.ts';
import { tenantFilter } from '../../kernel/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import { list } from '../list.ts';
import { printJson } from '../output.ts';
import { move, moves } from '../retention/moves.ts';
import { plan } from '../retention/plan.ts';
import { run } from '../retention/runs.ts';
import { verify } from '../retention/verifications.ts';
import { type Verbs, verb, yesOption } from '../verb.ts';
import { policy } from './policies.ts';
import { forget, orphans } from './retention-objects.ts';

const { word, text, count, bytes } =
  columnsOf<RouteAnswer<'GET /retention/segments'>['data'][number]>();

const segments = list('GET /retention/segments', {
  summary: 'list the objects that hold cold records',
  description:
    'Lists the objects of the store that hold cold records. Those that were replaced stay for the time of grace, and hold records a second time: who reads the store without svcctl reads the live ones.',
  examples: [
    'svcctl retention segments --tenant TX',
    'svcctl retention segments --live --json object_key',
  ],
  filters: { tenant: tenantFilter },
  options: [['--live', 'only those that are read, which hold each cold record once']],
  query: ({ live }: { live?: true }) => ({ state: live && 'live' }),
  columns: [
    text('TENANT', 'tenant'),
    text('OBJECT', 'object_key'),
    word('STATE', 'state'),
    count('RECORDS', 'count'),
    bytes('SIZE', 'size_bytes'),
  ],
  below: { one: 'object' },
});

const table = call('GET /iceberg/v1/namespaces/svcctl/tables/records', {
  summary: 'tell where other engines find the cold records as a table',
  description:
    'Makes a snapshot of the cold records as a table of Apache Iceberg, unless the last one still shows them all, and tells where its metadata lies: DuckDB reads it with iceberg_scan. Other readers ask the catalogue at /iceberg of the service. See docs/iceberg.md.',
  examples: ['svcctl retention table', 'svcctl retention table --json metadata-location'],
  facts(answer, _times, url) {
    const summary = answer.metadata.snapshots.at(-1)?.summary ?? {};
    return [
      ['table', `svcctl.records, by the catalogue at ${url}/iceberg`],
      ['metadata', answer['metadata-location']],
      ['snapshot', String(answer.metadata['current-snapshot-id'])],
      ['records', summary['total-records'] ?? null],
      ['segments', summary['total-data-files'] ?? null],
    ];
  },
});

const adoptStore = verb({
  summary: 'take the store of cold data over for this database',
  description:
    'Of two copies of a database (a clone, a restored backup) on one store of cold data, one writes, and the other one only reads. Makes the one of this service the one that writes. It tells how things are, and asks.',
  examples: ['svcctl retention adopt-store', 'svcctl retention adopt-store --yes'],
  options: [yesOption, ['--json', 'print how the store stands afterwards as JSON']],
  async act(context, { yes, json }) {
    const client = await context.connect();
    const store = await client.json('GET /retention/store', { query: { include: 'missing' } });
    if (store.state === 'own') {
      context.note('The store is this database’s already.');
      if (json) await printJson(context, store);
      return;
    }
    if (store.problem !== null) context.note(store.problem);
    if (store.written_by !== null) context.note(`Last written by ${store.written_by}.`);
    if (store.segments !== null && store.segments_missing !== null) {
      context.note(
        `It lacks ${formatCount(store.segments_missing)} of the ${numberOf(store.segments, 'object')} that this database knows${store.segments_missing === 0 ? '.' : ': their days cannot be read here.'}`,
      );
    }
    await confirm(context, yes, {
      question:
        'Stop the other service first. It will only read, and miss what is merged or deleted here. Take the store over?',
      act: 'Take it over',
    });
    const adopted = await client.json('POST /retention/adopt-store', {});
    if (json) await printJson(context, adopted);
    context.note('The store is this database’s now.');
    context.hint('See what is missing: svcctl retention verify');
  },
});

export const retention: Verbs = {
  plan,
  run,
  'adopt-store': adoptStore,
  moves,
  move,
  segments,
  table,
  verify,
  forget,
  orphans,
  policy,
};
