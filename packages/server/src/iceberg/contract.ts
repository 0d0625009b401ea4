import { Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import { exactly, optional, problem } from '../platform/http/schemas.contract.ts';

const paged = {
  pageToken: optional.string({ maxLength: 1000, description: 'all fits on one page' }),
  pageSize: optional.integer({ minimum: 1 }),
};
const none = exactly({});

const about =
  'Iceberg’s own paths begin at the origin (`/iceberg/v1/…`); the same answers stand below `/api/v1`. Errors have Iceberg’s `error` beside the fields of a problem document.';

/** The catalogue of Iceberg's REST specification, as far as those need it who read. */
export const icebergContract = routesUnder('Iceberg', {
  getIcebergConfig: {
    route: 'GET /iceberg/v1/config',
    summary: 'Tell a reader of Iceberg what the catalogue can do',
    description: about,
    scope: 'enrichment:read',
    query: exactly({ warehouse: optional.string({ maxLength: 1000 }) }),
    responses: {
      200: {
        description: 'Where the objects are, as defaults, and the endpoints that there are.',
        schema: Type.Object({
          defaults: Type.Record(Type.String(), Type.String()),
          overrides: Type.Record(Type.String(), Type.String()),
          endpoints: Type.Array(Type.String()),
        }),
      },
    },
  },
  listIcebergNamespaces: {
    route: 'GET /iceberg/v1/namespaces',
    summary: 'List the namespaces: svcctl',
    scope: 'enrichment:read',
    query: exactly({ parent: optional.string({ maxLength: 1000 }), ...paged }),
    responses: {
      200: {
        description: 'The one that there is; none below a parent.',
        schema: Type.Object({ namespaces: Type.Array(Type.Array(Type.String())) }),
      },
    },
  },
  getIcebergNamespace: {
    route: 'GET /iceberg/v1/namespaces/svcctl',
    summary: 'Show the namespace',
    scope: 'enrichment:read',
    query: none,
    responses: {
      200: {
        description: 'It has no properties.',
        schema: Type.Object({
          namespace: Type.Array(Type.String()),
          properties: Type.Record(Type.String(), Type.String()),
        }),
      },
    },
  },
  listIcebergTables: {
    route: 'GET /iceberg/v1/namespaces/svcctl/tables',
    summary: 'List the tables: records',
    scope: 'enrichment:read',
    query: exactly(paged),
    responses: {
      200: {
        description: 'The one that there is.',
        schema: Type.Object({
          identifiers: Type.Array(
            Type.Object({ namespace: Type.Array(Type.String()), name: Type.String() }),
          ),
        }),
      },
    },
  },
  loadIcebergTable: {
    route: 'GET /iceberg/v1/namespaces/svcctl/tables/records',
    summary: 'Load the cold records as a table',
    description:
      'A snapshot of the live segments at the moment of the call, for a token limited to tenants of those of its tenants, and one for each switch before it; files that they name are written first. What a snapshot names is kept for SVC_COLD_GRACE_SECONDS after it was replaced. See docs/iceberg.md.',
    scope: 'enrichment:read',
    query: exactly({ snapshots: optional.string({ maxLength: 10 }) }),
    responses: {
      200: {
        description: 'Iceberg’s LoadTableResult.',
        schema: Type.Object({
          'metadata-location': Type.String({ description: 'a URI: file://… or s3://…' }),
          metadata: Type.Object(
            {
              'table-uuid': Type.String(),
              'last-updated-ms': Type.Integer(),
              'current-snapshot-id': Type.Integer(),
              snapshots: Type.Array(
                Type.Object({
                  'snapshot-id': Type.Integer(),
                  'timestamp-ms': Type.Integer(),
                  'manifest-list': Type.String(),
                  summary: Type.Record(Type.String(), Type.String()),
                }),
              ),
            },
            { description: 'what that file holds: table metadata of format version 2, and more' },
          ),
          config: Type.Record(Type.String(), Type.String()),
        }),
      },
      409: problem,
    },
  },
});
