import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { apiContract, type RouteContract } from './contract.ts';
import { AppError } from './kernel/errors.ts';
import { Validator } from './platform/http/validate.ts';

const routes = Object.values<RouteContract>(apiContract);

/** Routes with a body that names tenants or stores in order to read, to move or to take away. */
const readsNames = [
  'exportCsv',
  'exportNdjson',
  'exportParquet',
  'exportBundle',
  'previewTemplate',
  'previewExport',
  'startCount',
  'startRun',
  'startVerification',
  'eraseRecords',
  'planErasure',
  'purgeDeadLetters',
  'retryDeadLetters',
  'testFilter',
];

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
};

/** The schemas of all tenants and stores in a body. */
function namesIn(schema: Schema): Schema[] {
  const inner = [schema.items ?? {}, ...(schema.anyOf ?? [])].filter((each) => each !== schema);
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      if (name === 'tenant' || name === 'store') return [property];
      return name === 'tenants' && property.items ? [property.items] : namesIn(property);
    }),
    ...inner.flatMap((each) => (Object.keys(each).length > 0 ? namesIn(each) : [])),
  ];
}

test('every query and body is a schema by the schema of schemas, and can be compiled', () => {
  const validator = new Validator();
  const ajv = new Ajv2020();
  for (const { id, query, body } of routes) {
    for (const schema of [query ?? {}, body ?? {}]) {
      expect(ajv.validateSchema(schema), id).toBe(true);
      const check = () => validator.check(schema, '/')(null);
      if (Object.keys(schema).length > 0) expect(check, id).toThrow(AppError);
    }
  }
});

test('whatever stores or allows something refuses the names *, . and ..', () => {
  const validator = new Validator();
  const accepting = routes
    .filter(({ body, streamedBody }) =>
      [body, ...Object.values(streamedBody ?? {})].some((schema) =>
        namesIn(schema ?? {}).some((name) => {
          const check = validator.check(name, '/');
          expect(() => check('a.*')).not.toThrow();
          return ['*', '.', '..'].some((value) => {
            try {
              check(value);
              return true;
            } catch {
              return false;
            }
          });
        }),
      ),
    )
    .map(({ id }) => id);
  expect(accepting.toSorted()).toEqual(readsNames.toSorted());
});

test('the walk finds tenants and stores wherever they stand', () => {
  const found = routes.filter(({ body, streamedBody }) =>
    [body, ...Object.values(streamedBody ?? {})].some((schema) => namesIn(schema ?? {}).length > 0),
  );
  const ids = found.map(({ id }) => id).filter((id) => !readsNames.includes(id));
  expect(ids.toSorted()).toEqual([
    'createEndpoint',
    'createNotifyTarget',
    'createPortalLink',
    'createSchedule',
    'createTag',
    'createToken',
    'createVersion',
    'ingestRecords',
    'planImport',
    'reportIncident',
    'tryNotifyTarget',
  ]);
});
