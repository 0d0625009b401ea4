import sql from 'sql-template-tag';
import { createGate } from '../../kernel/gate.ts';
import type { Figure, FigureSource } from '../metrics/figures.ts';
import { type Database, onlyRow, type Queryable } from './database.ts';
import { newestApplied } from './migrate.ts';
import { findMissingStandbys, isReadOnly } from './replication.ts';

/** What a feature tells of the whole database, by a few statements that follow an index or read rows of sums. */
type DatabaseFigures<Name extends string = string> = Omit<FigureSource<Name>, 'read'> & {
  read(db: Queryable): Promise<Readonly<Record<Name, Figure>>>;
};

/** Lets the compiler see that a feature tells each of its gauges. */
export function databaseFigures<Name extends string>(
  figures: DatabaseFigures<Name>,
): DatabaseFigures<Name> {
  return figures;
}

/** No statement of the metrics takes longer. The server ends it, so that it does not go on for nobody. */
const statementMillis = 2000;

/** Makes sources of what features tell of the database: read in turn, so that metrics take one connection. */
export function fromDatabase(db: Database, features: readonly DatabaseFigures[]): FigureSource[] {
  const turns = createGate(1);
  return features.map((feature) => ({
    ...feature,
    read: () =>
      turns.run(() =>
        db.transaction(async (connection) => {
          await connection.client.query(`set local statement_timeout = ${statementMillis}`);
          return feature.read(connection);
        }),
      ),
  }));
}

/** What the database tells of itself. */
export const ownFigures = databaseFigures({
  name: 'database',
  gauges: {
    svcctl_database_up: { help: 'Whether the database answers this process.', otherwise: 0 },
    svcctl_database_size_bytes: {
      help: 'What the database takes on its disk; of a Citus cluster, on the coordinator.',
    },
    svcctl_database_read_only: { help: 'Whether the database only reads.' },
    svcctl_standby_missing: {
      help: 'Each standby that writes wait for and that is not connected, with the value 1.',
      label: 'standby',
    },
    svcctl_database_schema_info: {
      help: 'The newest migration of the database, which may be that of a newer release.',
      label: 'migration',
    },
    svcctl_record_partitions: {
      help: 'Months for which there is a partition of records. They are made when the first record of a month comes.',
    },
  },
  async read(db) {
    const rows = await db.query<{ size: number; migration: string; partitions: number }>(sql`
      select pg_database_size(current_database()) as size,
        (${newestApplied}) as migration,
        (select count(*) from pg_inherits where inhparent = 'enrichment_records'::regclass) as partitions`);
    const { size, migration, partitions } = onlyRow(rows);
    return {
      svcctl_database_up: 1,
      svcctl_database_read_only: Number(await isReadOnly(db)),
      svcctl_standby_missing: Object.fromEntries(
        (await findMissingStandbys(db)).map((name) => [name, 1]),
      ),
      svcctl_database_size_bytes: size,
      svcctl_database_schema_info: { [migration]: 1 },
      svcctl_record_partitions: partitions,
    };
  },
});
