import { membersOf } from '../../kernel/json-items.ts';
import { call } from '../act.ts';
import { ApiError } from '../api-error.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { type Facts, jsonLines, section, type Times } from '../details.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import { JsonText } from '../parse-answer.ts';
import type { Verbs } from '../verb.ts';
import { readJson } from '../webhooks/read-json.ts';

type EventType = RouteAnswer<'GET /webhook/event-types/:type'>;

const argument = ['<type>', 'the type, as incident.created'] as const;

const { word, text, ago } = columnsOf<EventType>();

const ls = list('GET /webhook/event-types', {
  summary: 'list the types of events',
  description:
    'Lists the catalogue: what may be reported, and how its data looks. What becomes of other reports, SVC_EVENT_TYPES says.',
  examples: ['svcctl event-types ls', 'svcctl event-types ls --json type,description'],
  columns: [
    word('TYPE', 'type'),
    text('DESCRIPTION', 'description', { givesWay: 1 }),
    word('SCHEMA', ({ schema }) => (schema === null ? null : 'yes')),
    word('SAMPLE', ({ sample }) => (sample === null ? null : 'yes')),
    word('STATE', ({ deprecated }) => (deprecated ? 'deprecated' : '')),
    ago('CHANGED', 'updated_at'),
  ],
  below: {
    none: 'The catalogue is empty. Add a type: svcctl event-types set TYPE --description …',
    one: 'type',
  },
});

const show = call('GET /webhook/event-types/:type', {
  summary: 'show one type, with its schema and its sample',
  description: 'Shows one type of the catalogue, with the schema and the sample of its data.',
  argument,
  examples: [
    'svcctl event-types show incident.created',
    'svcctl event-types show incident.created --json schema',
  ],
  facts: typeFacts,
  more: ({ schema, sample }, answer, context) => [
    ...(schema === null ? [] : section(context, 'SCHEMA', jsonLines(answer, 'schema'))),
    ...(sample === null ? [] : section(context, 'SAMPLE', jsonLines(answer, 'sample'))),
  ],
});

function typeFacts(
  { type, description, deprecated, updated_at: changed }: EventType,
  { at }: Times,
): Facts {
  return [
    ['type', type],
    ['description', description],
    ['deprecated', deprecated ? 'yes: to be reported and wanted no more' : 'no'],
    ['changed', at(changed)],
  ];
}

const set = call('PUT /webhook/event-types/:type', {
  summary: 'add a type, or change it',
  description: 'Adds a type to the catalogue, or changes what is named of it.',
  argument,
  examples: [
    'svcctl event-types set incident.created --description "A detector fired"',
    'svcctl event-types set incident.created --schema @schema.json --sample \'{"score":0.97}\'',
    'svcctl event-types set incident.moved --deprecated',
  ],
  options: [
    ['--description <text>', 'when it is reported, and what its data says'],
    ['--schema <json>', 'the JSON Schema of its data, @file, or - for stdin; null takes it away'],
    ['--sample <json>', 'data as it may be reported: JSON, @file, or -; null takes it away'],
    ['--deprecated', 'it is to be reported and wanted no more'],
    ['--no-deprecated', 'it is in use again'],
    ['--json', 'print it as JSON'],
  ],
  async read(context, client, options, type) {
    const { description, deprecated, schema, sample } = options;
    if (schema === '-' && sample === '-') throw usage('Only one of them can come from stdin.');
    const given = {
      description: description === '' ? null : description,
      schema: schema === undefined ? undefined : await readJson(context, '--schema', schema),
      sample: sample === undefined ? undefined : await readJson(context, '--sample', sample),
      deprecated,
    };
    const before = await findType(client, type);
    // What is not given stays as it is, and JSON is sent as it is spelled, so that numbers keep their digits.
    const set = Object.entries(given).filter(([, value]) => value !== undefined);
    const body = { ...before, ...Object.fromEntries(set) };
    const made = await client.json('PUT /webhook/event-types/:type', { params: { type }, body });
    context.note(`${before === undefined ? 'Added' : 'Changed'} ${type}.`);
    return made;
  },
  facts: typeFacts,
});

/** What the catalogue has of a type, as it is spelled; nothing when it has none. */
async function findType(client: Client, type: string) {
  try {
    const members = membersOf(
      await client.text('GET /webhook/event-types/:type', { params: { type } }),
    );
    const names = ['description', 'schema', 'sample', 'deprecated'];
    return Object.fromEntries(
      names.map((name) => [name, new JsonText(members.get(name) ?? 'null')]),
    );
  } catch (error) {
    if (error instanceof ApiError && error.code === 'event_type_not_found') return undefined;
    throw error;
  }
}

const rm = call('DELETE /webhook/event-types/:type', {
  summary: 'take a type out of the catalogue',
  description:
    'Takes a type out of the catalogue. Endpoints, incidents and deliveries stay as they are.',
  argument,
  examples: ['svcctl event-types rm incident.moved', 'svcctl event-types rm incident.moved --yes'],
  asks: {
    question: ([type]) => `Take ${type} out of the catalogue?`,
    act: 'Take it out',
    refused: 'The catalogue is as it was.',
  },
  done: (type) => `${type} is not in the catalogue any more.`,
});

export const eventTypes: Verbs = { ls, show, set, rm };
